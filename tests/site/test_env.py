"""Wrong environment variables stop the start; the error has the name and the expected form.

CELERY_BROKER_URL: with TLS the server is verified unless the URL says otherwise.
"""

import socket
import sqlite3
import ssl
from contextlib import closing
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import redis
from django.core.exceptions import ImproperlyConfigured
from django.http.request import split_domain_port, validate_host
from kombu import Connection

from feedletter_site import env
from feedletter_site.env import parse_broker_url
from tests.common.certificates import self_signed, server_context
from tests.servers.feed_server import FeedServer
from tests.services import free_port, program, running, wait_until

BASE = Path("/srv/feedletter")


def test_a_value_may_come_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("s3cret\n")
    monkeypatch.setenv("SOME_KEY_FILE", str(tmp_path / "key"))
    assert env.text("SOME_KEY") == "s3cret"


def test_a_byte_order_mark_and_line_ends_of_windows_are_no_part_of_a_secret(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "key").write_bytes("s3crét\r\n".encode("utf-8-sig"))
    monkeypatch.setenv("SOME_KEY_FILE", str(tmp_path / "key"))
    assert env.text("SOME_KEY") == "s3crét"


def test_the_variable_itself_wins_over_its_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SOME_KEY", "plain")
    monkeypatch.setenv("SOME_KEY_FILE", str(tmp_path / "missing"))
    assert env.text("SOME_KEY") == "plain"


def test_a_file_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SOME_KEY_FILE", str(tmp_path / "missing"))
    with pytest.raises(ImproperlyConfigured, match="SOME_KEY_FILE is wrong: expected a readable file"):
        env.text("SOME_KEY")


@pytest.mark.parametrize(("value", "expected"), [("1", True), ("Yes", True), ("off", False), ("", False)])
def test_flags_are_read_in_any_of_the_usual_words(
    monkeypatch: pytest.MonkeyPatch, value: str, expected: bool
) -> None:
    monkeypatch.setenv("SOME_FLAG", value)
    assert env.flag("SOME_FLAG") is expected


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (env.flag, "perhaps"),
        (env.networks, "10.0.0.0/99"),
        (lambda name: env.bind(name, ""), "localhost"),
        (lambda name: env.bind(name, ""), "0.0.0.0:99999"),
        (lambda name: env.bind(name, ""), "::1:8000"),
        (lambda name: env.bind(name, ""), "[::1:8000"),
        (lambda name: env.bind(name, ""), "[letters]:8000"),
        (lambda name: env.site_url(name, ""), "letters.example.org"),
        (lambda name: env.one_of(name, "a", {"a", "b"}), "c"),
        (lambda name: env.checked(name, "1", "a number", int), "one"),
        (lambda name: env.database(name, "", BASE), "mysql://user:hunter2@db/name"),
        (lambda name: env.database(name, "", BASE), "postgres://db"),
        (lambda name: env.database(name, "", BASE), "postgres://db/letters?prepared=off"),
        (lambda name: env.database(name, "", BASE), "postgres://db/letters?connect_timeout=soon"),
        (lambda name: env.database(name, "", BASE), "postgres://db/letters?keepalives=-1"),
    ],
)
def test_a_wrong_value_names_the_variable_and_never_itself(
    monkeypatch: pytest.MonkeyPatch, read: "object", value: str
) -> None:
    monkeypatch.setenv("SOME_SETTING", value)
    with pytest.raises(ImproperlyConfigured) as error:
        read("SOME_SETTING")  # type: ignore[operator]
    assert str(error.value).startswith("SOME_SETTING is wrong: expected ")
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(
    ("bound", "url"),
    [
        ("127.0.0.1:28000", "http://127.0.0.1:28000"),
        ("0.0.0.0:80", "http://127.0.0.1"),
        ("[::]:28004", "http://[::1]:28004"),
        ("[0:0::1]:28004", "http://[::1]:28004"),
        ("letters.example.org:8000", "http://letters.example.org:8000"),
    ],
)
def test_links_of_every_process_lead_to_bind_unless_site_url_is_set(
    monkeypatch: pytest.MonkeyPatch, bound: str, url: str
) -> None:
    monkeypatch.setenv("BIND", bound)
    assert env.site_url("NO_SITE_URL", env.url_of(env.bind("BIND", ""))) == url


def test_a_postgres_url_becomes_djangos_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://us%40er:p%2Fw@db.example:5433/letters")
    found = env.database("DATABASE_URL", "", BASE)
    names = ("ENGINE", "USER", "PASSWORD", "HOST", "PORT", "NAME")
    assert [found[name] for name in names] == [
        "common.postgresql",
        "us@er",
        "p/w",
        "db.example",
        "5433",
        "letters",
    ]


def test_a_postgres_url_may_say_how_to_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://db.example/letters?sslmode=require&prepare=off")
    found = env.database("DATABASE_URL", "", BASE)
    assert (found["NAME"], found["OPTIONS"]) == (
        "letters",
        {"sslmode": "require", "prepare_threshold": None, **env.POSTGRES_NETWORK},
    )


def test_parameters_of_libpq_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    given = "application_name=a&sslcert=c.pem&target_session_attrs=read-write&options=-c%20search_path%3Dx"
    monkeypatch.setenv("DATABASE_URL", f"postgres:///letters?host=/run/pg,/run/other&user=us&{given}")
    found = env.database("DATABASE_URL", "", BASE)
    assert (found["HOST"], found["USER"]) == ("/run/pg,/run/other", "us")
    options = found["OPTIONS"]
    assert (options["application_name"], options["sslcert"]) == ("a", "c.pem")
    assert options["target_session_attrs"] == "read-write"
    assert options["options"].endswith(" -c search_path=x")


def test_several_hosts_are_tried_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://us:p@one.example:5433,[::1],three.example:5434/letters")
    found = env.database("DATABASE_URL", "", BASE)
    assert (found["HOST"], found["PORT"]) == ("one.example,::1,three.example", "5433,,5434")
    assert (found["USER"], found["PASSWORD"]) == ("us", "p")


@pytest.mark.parametrize("key", ["pgbouncer", "sslmod", "schema", "client_encoding"])
def test_an_unknown_parameter_is_named(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("DATABASE_URL", f"postgres://db.example/letters?sslmode=require&{key}=hunter2")
    with pytest.raises(ImproperlyConfigured, match=f"“{key}”") as error:
        env.database("DATABASE_URL", "", BASE)
    assert "hunter2" not in str(error.value)


def test_an_unknown_sslmode_is_refused_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://db.example/letters?sslmode=bogus")
    with pytest.raises(ImproperlyConfigured, match="verify-full, and not “bogus”"):
        env.database("DATABASE_URL", "", BASE)


def test_the_rest_of_a_password_is_not_taken_for_a_parameter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://user:1/x?hunter2@db.example/letters")
    with pytest.raises(ImproperlyConfigured) as error:
        env.database("DATABASE_URL", "", BASE)
    assert "hunter2" not in str(error.value)


def test_a_pooler_gets_no_server_side_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    for query, expected in (("", False), ("?prepare=off", True)):
        monkeypatch.setenv("DATABASE_URL", f"postgres://db.example/letters{query}")
        assert env.database("DATABASE_URL", "", BASE)["DISABLE_SERVER_SIDE_CURSORS"] is expected


def test_postgres_is_asked_to_bound_everything_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://db.example/letters")
    options = env.database("DATABASE_URL", "", BASE)["OPTIONS"]
    assert options["tcp_user_timeout"] == 15_000
    assert "-c idle_in_transaction_session_timeout=20000" in options["options"]
    monkeypatch.setenv(
        "DATABASE_URL", "postgres://db.example/letters?keepalives_idle=60&statement_timeout=0&prepare=off"
    )
    options = env.database("DATABASE_URL", "", BASE)["OPTIONS"]
    assert (options["keepalives_idle"], options["options"]) == (60, "-c statement_timeout=0")


def test_a_new_sqlite_database_is_for_its_user_only(tmp_path: Path) -> None:
    path = Path(env.database("NO_SUCH", "sqlite:///new/x.db", tmp_path)["NAME"])
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE x (y)")
        modes = {each.name: each.stat().st_mode & 0o777 for each in (path.parent, *path.parent.iterdir())}
    assert modes == {"new": 0o700, "x.db": 0o600, "x.db-wal": 0o600, "x.db-shm": 0o600}
    path.chmod(0o640)
    env.database("NO_SUCH", "sqlite:///new/x.db", tmp_path)
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_sqlite_path_is_relative_to_the_project_or_absolute(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert env.database("NO_SUCH", "sqlite:///var/x.db", tmp_path)["NAME"] == str(tmp_path / "var/x.db")
    absolute = f"sqlite:///{tmp_path}/y.db"
    assert env.database("NO_SUCH", absolute, BASE)["NAME"] == str(tmp_path / "y.db")


def test_networks_are_read_from_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETS", "10.0.0.1/8, fd00::/8")
    assert env.networks("NETS") == [ip_network("10.0.0.0/8"), ip_network("fd00::/8")]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("HTTPS://Letters.Example.ORG/", "https://letters.example.org"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
        ("https://BÜCHER.example:443//", "https://xn--bcher-kva.example"),
        ("https://straße.example", "https://xn--strae-oqa.example"),
        ("https://xn--bcher-kva.example.", "https://xn--bcher-kva.example"),
        ("https://例え.テスト:8443", "https://xn--r8jz45g.xn--zckzah:8443"),
        ("http://letters.example.org:80", "http://letters.example.org"),
        ("http://[2001:DB8:0::1]:8000", "http://[2001:db8::1]:8000"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://localhost", "http://localhost"),
    ],
)
def test_the_site_url_is_as_browsers_write_it(
    monkeypatch: pytest.MonkeyPatch, given: str, expected: str
) -> None:
    """Django answers another spelling of the host with 400, and an upper-case scheme loses secure cookies."""
    monkeypatch.setenv("SITE_URL", given)
    assert env.site_url("SITE_URL", "") == expected
    assert validate_host(split_domain_port(urlsplit(expected).netloc)[0], [env.host_name(given_host(given))])


def given_host(url: str) -> str:
    return urlsplit(url).hostname or ""


def test_hosts_may_be_international(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOSTS", "Bücher.example, .bücher.example, *, [::1], old.example.org")
    assert env.hosts("HOSTS") == [
        *("xn--bcher-kva.example", ".xn--bcher-kva.example", "*", "[::1]", "old.example.org")
    ]


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
