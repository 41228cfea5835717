"""The examples of docs/operating/ work: nginx and Caddy are proxies, and systemd accepts the units."""

import os
import re
import socket
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.urls import URLResolver, get_resolver

from common.body_limits import BodyLimit, limit_of
from common.net.client import MAX_BYTES
from reader.rules.parameters import MAX_BODY
from tests.servers.feed_server import FeedServer, Reply, wait_until
from tests.services import free_port, program, running

# Of views that count themselves.
OWN_LIMITS = {"websub": MAX_BYTES, "microsub": MAX_BODY}
EXAMPLES = Path(__file__).parent.parent.parent / "docs" / "examples"
HOST = "letters.example.org"
CHECK = {"nginx": ["-t", "-c"], "caddy": ["validate", "--adapter", "caddyfile", "--config"]}
RUN = {"nginx": ["-c"], "caddy": ["run", "--adapter", "caddyfile", "--config"]}


def certificate(folder: Path) -> tuple[Path, Path]:
    """Write a self-signed certificate for the example's host, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem, secret = folder / "fullchain.pem", folder / "privkey.pem"
    pem.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    kind = serialization.PrivateFormat.PKCS8
    secret.write_bytes(key.private_bytes(serialization.Encoding.PEM, kind, serialization.NoEncryption()))
    return pem, secret


@dataclass
class Proxy:
    """nginx or Caddy, running its example."""

    http: int
    https: int
    log: Path
    certificate: Path
    behind: FeedServer
    port: int

    def get(self, path: str, headers: dict[str, str] | None = None, body: bytes | None = None) -> int:
        """Return the status of a request over TLS, sent as a browser does."""
        context = ssl.create_default_context(cafile=self.certificate)
        context.check_hostname = False
        url = f"https://127.0.0.1:{self.https}{path}"
        request = urllib.request.Request(url, data=body, headers={"Host": HOST, **(headers or {})})
        try:
            with urllib.request.urlopen(request, timeout=10, context=context) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    def announce(self, path: str, size: int) -> int:
        """Return the status for a body of this size, which isn't sent: 100 if the proxy accepts it."""
        context = ssl.create_default_context(cafile=self.certificate)
        context.check_hostname = False
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {size}\r\nExpect: 100-continue\r\n\r\n"
        )
        with (
            socket.create_connection(("127.0.0.1", self.https), timeout=60) as plain,
            context.wrap_socket(plain) as connection,
        ):
            connection.sendall(head.encode())
            return int(connection.recv(12).split()[1])


@contextmanager
def in_front_of(folder: Path, name: str, port: int = 0) -> Iterator[Proxy]:
    """Run it before the server at this port, or before a new one."""
    path = program(name)
    if path is None:
        pytest.skip(f"Missing: {name}")
    pem, key = certificate(folder)
    with FeedServer() as behind:
        behind.serve("/s/news/", b"hello")
        proxy = Proxy(free_port(), free_port(), folder / "access.log", pem, behind, port or behind.port)
        config = folder / "config"
        config.write_text(CONFIGURED[name](folder, proxy, key), encoding="utf-8")
        tested = subprocess.run([path, *CHECK[name], config], capture_output=True, text=True, check=False)
        assert tested.returncode == 0, tested.stderr
        with running([path, *RUN[name], str(config)], env={**os.environ, "HOME": str(folder)}):
            assert wait_until(lambda: listens(proxy))
            yield proxy


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    with in_front_of(tmp_path, "nginx") as proxy:
        yield proxy


@pytest.fixture(params=["nginx", "caddy"])
def each_proxy(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Proxy]:
    with in_front_of(tmp_path, request.param) as proxy:
        yield proxy


def nginx(folder: Path, proxy: Proxy, key: Path) -> str:
    """Return the example with ports and files that the test may use, in a frame as Debian's nginx.conf."""
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    head = f"daemon off; master_process off; error_log {folder}/error.log; pid {folder}/pid; events {{}}"
    changes = {
        r"listen \[::\].*\n": "",
        r"listen 80;": f"listen 127.0.0.1:{proxy.http};",
        r"listen 443": f"listen 127.0.0.1:{proxy.https}",
        r"/etc/letsencrypt/\S*/fullchain.pem": str(proxy.certificate),
        r"/etc/letsencrypt/\S*/privkey.pem": str(key),
        r"/var/log/nginx/feedletter.log": str(proxy.log),
        r"127.0.0.1:8000": f"127.0.0.1:{proxy.port}",
    }
    return f"{head}\nhttp {{ {paths}\n{example('nginx.conf', changes)}\n}}\n"


def caddy(folder: Path, proxy: Proxy, key: Path) -> str:
    """Return the example with ports and files that the test may use, and a certificate of ours."""
    ours = f"admin off\n\thttp_port {proxy.http}\n\thttps_port {proxy.https}\n\tdefault_bind 127.0.0.1\n\t"
    ours += f"default_sni {HOST}\n\tauto_https disable_certs"
    changes = {
        r"\blog {": f"{ours}\n\tlog {{\n\t\toutput file {proxy.log}",
        rf"{HOST} {{": f"{HOST} {{\n\ttls {proxy.certificate} {key}",
        r"127.0.0.1:8000": f"127.0.0.1:{proxy.port}",
    }
    return example("Caddyfile", changes)


def example(name: str, changes: dict[str, str]) -> str:
    site = (EXAMPLES / name).read_text(encoding="utf-8")
    for pattern, replacement in changes.items():
        site, count = re.subn(pattern, replacement, site)
        assert count, pattern
    return site


CONFIGURED = {"nginx": nginx, "caddy": caddy}


def listens(proxy: Proxy) -> bool:
    try:
        return proxy.get("/s/news/") == 200
    except OSError:
        return False


def test_a_proxy_says_who_asked_and_how(each_proxy: Proxy) -> None:
    """Feedletter doesn't trust what visitors say before the last address."""
    assert each_proxy.get("/s/news/", {"X-Forwarded-For": "192.0.2.7"}) == 200
    headers = each_proxy.behind.requests[-1].headers
    assert headers["x-forwarded-proto"] == "https"
    assert headers["x-forwarded-for"].split(", ")[-1] == "127.0.0.1"
    assert headers["host"] == HOST


def test_a_proxy_accepts_the_largest_body_of_every_page(each_proxy: Proxy) -> None:
    largest = dict(large_bodies(get_resolver()))
    assert {"/reader/compose/", "/reader/feeds/opml/", "/websub/1/"} <= largest.keys()
    refused = [path for path, size in largest.items() if each_proxy.announce(path, size) == 413]
    assert refused == []


def large_bodies(resolver: URLResolver, start: str = "/") -> Iterator[tuple[str, int]]:
    """Yield an address and the most bytes for each page that accepts more than a form."""
    for pattern in resolver.url_patterns:
        address = start + re.sub(r"[\^$\\]|\?P?<|\(.*", "", re.sub(r"<[^>]*>", "1", str(pattern.pattern)))
        if isinstance(pattern, URLResolver):
            yield from large_bodies(pattern, address)
        elif limit_of(pattern.callback) != BodyLimit():
            yield address, limit_of(pattern.callback).largest or OWN_LIMITS[address.split("/")[1]]


def test_nginx_takes_large_bodies_only_where_they_belong(proxy: Proxy) -> None:
    for path in ("/", "/s/news/", "/sign-in/", "/anymail/ses/tracking/", "/websub/x/"):
        assert proxy.get(path, body=b"x" * 7_000_000) == 413, path
    assert not [seen for seen in proxy.behind.requests if seen.path != "/s/news/"]


def test_a_proxy_leads_http_to_https(each_proxy: Proxy) -> None:
    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: object) -> None:
            return None

    request = urllib.request.Request(f"http://127.0.0.1:{each_proxy.http}/s/news/", headers={"Host": HOST})
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.build_opener(Stay).open(request, timeout=10)
    target = urlsplit(caught.value.headers["Location"])
    assert (target.scheme, target.hostname, target.path) == ("https", HOST, "/s/news/")


def test_a_proxy_keeps_metrics_on_this_machine(each_proxy: Proxy) -> None:
    each_proxy.behind.serve("/metrics", b"figures")
    assert each_proxy.get("/metrics") == 404


def test_nginx_logs_no_tokens(proxy: Proxy) -> None:
    for path in (
        "/confirm/secret/",
        "/unsubscribe/secret/",
        "/sign-in/secret/",
        "//manage/secret/x",
        "/v0/subscription/confirm?subscriptionId=1&secret=x",
    ):
        proxy.get(path)
    # nginx logs a request after it has responded.
    assert wait_until(lambda: '"GET /v0/subscription/confirm"' in proxy.log.read_text())
    log = proxy.log.read_text()
    assert '"GET /confirm/..."' in log
    assert '"GET /v0/subscription/confirm"' in log
    assert "secret" not in log


def test_caddy_logs_no_tokens_even_while_feedletter_is_down(tmp_path: Path) -> None:
    with in_front_of(tmp_path, "caddy") as proxy:
        proxy.behind.answer("/confirm/secret/", hang_up)
        assert proxy.get("/confirm/secret/") == 502
    assert "serving initial configuration" in proxy.log.read_text()
    assert "secret" not in proxy.log.read_text()


def hang_up(_: object) -> Reply:
    raise ConnectionError


@pytest.mark.parametrize("unit", sorted(EXAMPLES.glob("*.service")), ids=lambda path: path.stem)
def test_systemd_takes_the_unit(unit: Path, tmp_path: Path) -> None:
    if program("systemd-analyze") is None:
        pytest.skip("Missing: systemd-analyze")
    here = tmp_path / unit.name.replace("@.", "@poll.")
    # systemd-analyze requires that the program exists.
    here.write_text(unit.read_text().replace("/opt/feedletter/bin/feedletter", "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", here], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("unit", sorted(EXAMPLES.glob("*.service")), ids=lambda path: path.stem)
def test_a_unit_has_a_folder_for_its_files(unit: Path) -> None:
    """All other folders are read-only for it."""
    lines = unit.read_text().splitlines()
    assert "ProtectSystem=strict" in lines
    assert "StateDirectory=feedletter" in lines
    assert any(line.startswith("Environment=DATA_DIR=/var/lib/feedletter") for line in lines)


def test_the_blogs_of_the_tutorial_are_feeds_of_what_was_published(tmp_path: Path) -> None:
    acts = (
        "publish lgm One '<p>a</p>'; publish lgm Two '<p>b</p>'; publish lgm Three '<p>c</p>'; withdraw lgm"
    )
    subprocess.run(["bash", "-c", f". {EXAMPLES}/blogs.sh; {acts}"], cwd=tmp_path, check=True)
    feed = (tmp_path / "var" / "blogs" / "lgm.xml").read_text()
    assert re.findall(r"<item><title>(\w+)</title><link>http://127.0.0.1:8801/(lgm-\d).html", feed) == [
        ("Two", "lgm-2"),
        ("One", "lgm-1"),
    ]
