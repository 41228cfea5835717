"""CELERY_BROKER_URL: with TLS the server is verified unless the URL says otherwise."""

import socket
import ssl
from pathlib import Path
from typing import Any

import pytest
import redis
from kombu import Connection

from feedletter_site.env import parse_broker_url
from tests.common.certificates import self_signed, server_context
from tests.servers.feed_server import FeedServer
from tests.services import free_port, program, running, wait_until


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", ("", None)),
        ("redis://host:6379/0", ("redis://host:6379/0", None)),
        ("rediss://host/0", ("rediss://host/0?ssl_cert_reqs=required", None)),
        ("rediss://host/0?ssl_cert_reqs=CERT_NONE", ("rediss://host/0?ssl_cert_reqs=none", None)),
        ("amqp://u:p@host/v", ("amqp://u:p@host/v", None)),
        (
            "amqps://u:p@host/v",
            ("amqps://u:p@host/v", {"cert_reqs": ssl.CERT_REQUIRED, "server_hostname": None}),
        ),
        (
            "amqps://host/v?ssl_ca_certs=/ca.pem&ssl_check_hostname=false",
            ("amqps://host/v", {"cert_reqs": ssl.CERT_REQUIRED, "ca_certs": "/ca.pem"}),
        ),
        ("amqps://host/v?ssl_cert_reqs=none", ("amqps://host/v", {"cert_reqs": ssl.CERT_NONE})),
    ],
)
def test_tls_is_verified_unless_the_url_says_otherwise(given: str, expected: tuple[str, Any]) -> None:
    assert parse_broker_url(given) == expected


@pytest.mark.parametrize("url", ["http://host", "host:6379", "rediss://host?ssl_cert_reqs=maybe"])
def test_what_is_no_broker_is_refused(url: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        parse_broker_url(url)


def connect(url: str) -> None:
    """Connect once, as a worker does."""
    address, options = parse_broker_url(url)
    with Connection(address, ssl=options or False) as connection:
        connection.ensure_connection(max_retries=1, interval_start=0, timeout=5)


@pytest.mark.slow
def test_redis_is_verified_by_the_broker_and_by_the_cache(tmp_path: Path) -> None:
    if not program("redis-server"):
        pytest.skip("redis-server is not installed")
    pem, port = self_signed(tmp_path, "localhost"), free_port()
    command = [str(program("redis-server")), "--port", "0", "--tls-port", str(port), "--save", ""]
    command += ["--tls-cert-file", str(pem), "--tls-key-file", str(pem), "--tls-auth-clients", "no"]
    trusted = f"rediss://localhost:{port}/0?ssl_ca_certs={pem}"
    with running([*command, "--tls-ca-cert-file", str(pem)]):
        wait_until(lambda: socket.create_connection(("localhost", port)).close(), "Redis with TLS")
        connect(trusted)
        redis.Redis.from_url(parse_broker_url(trusted)[0]).ping()
        for wrong in (f"rediss://localhost:{port}/0", trusted.replace("//localhost", "//127.0.0.1")):
            with pytest.raises(Exception, match="CERTIFICATE_VERIFY_FAILED"):
                connect(wrong)
            with pytest.raises(redis.ConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
                redis.Redis.from_url(parse_broker_url(wrong)[0]).ping()
        connect(f"rediss://localhost:{port}/0?ssl_cert_reqs=none")


def test_amqps_compares_the_name_too(tmp_path: Path) -> None:
    pem = self_signed(tmp_path, "localhost")
    with FeedServer(tls=server_context(pem)) as server:
        trusted = f"amqps://localhost:{server.port}//?ssl_ca_certs={pem}"
        for wrong in (f"amqps://localhost:{server.port}//", trusted.replace("//localhost", "//127.0.0.1")):
            with pytest.raises(Exception, match="CERTIFICATE_VERIFY_FAILED"):
                connect(wrong)
        # The server speaks no AMQP, but its certificate was accepted.
        with pytest.raises(Exception, match=r"^(?!.*CERTIFICATE_VERIFY_FAILED)"):
            connect(trusted)
