"""The unsubscribe links and the mail server, called from outside."""

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from pathlib import Path

import pytest

from channels.email.account_url import parse_email_url
from common.net.client import SafeClient
from delivery.doctor.check import PATH, check_links
from delivery.doctor.findings import DoctorVerdict, Finding, worst_verdict
from delivery.doctor.server import SERVER, TLS, judge_server, look_at
from tests.channels.email_certificates import make_certificate
from tests.common.certificates import self_signed, server_context
from tests.servers.feed_server import FeedServer
from tests.servers.smtp_server import DROP, SmtpServer

HOST = "letters.example"
NOW = datetime.now(UTC)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return self_signed(tmp_path_factory.mktemp("tls"), HOST)


def looked(server: FeedServer, certificate: Path | None) -> Finding:
    client = SafeClient(
        allow=[ip_network("127.0.0.0/8")],
        resolve=lambda host, port: [server.host],
        verify=str(certificate) if certificate else True,
    )
    (finding,) = check_links(f"https://{HOST}:{server.port}", client)
    return finding


def test_links_that_answer_as_ours_do_are_good(certificate: Path) -> None:
    with FeedServer(tls=server_context(certificate)) as server:
        server.serve(PATH, status=400, headers={"X-Robots-Tag": "noindex"})
        assert looked(server, certificate).verdict is DoctorVerdict.GOOD
        assert [request.method for request in server.asked(PATH)] == ["GET", "POST"]


def test_our_own_page_for_a_link_that_is_none_is_known_as_ours(live_server: object) -> None:
    from django.test import Client

    for answer in (
        Client().get(PATH),
        Client(enforce_csrf_checks=True).post(PATH, {"List-Unsubscribe": "One-Click"}),
    ):
        assert (answer.status_code, answer["X-Robots-Tag"]) == (400, "noindex")


@pytest.mark.parametrize("status", [200, 404, 403, 502])
def test_something_else_that_answers_is_wrong(certificate: Path, status: int) -> None:
    with FeedServer(tls=server_context(certificate)) as server:
        server.serve(PATH, "a parked domain", status=status)
        finding = looked(server, certificate)
    assert (finding.verdict, finding.found) == (DoctorVerdict.WRONG, (f"HTTP {status} and HTTP {status}",))


def test_a_redirect_is_wrong(certificate: Path) -> None:
    with FeedServer(tls=server_context(certificate)) as server:
        server.redirect(PATH, "/elsewhere/")
        server.serve("/elsewhere/", status=400, headers={"X-Robots-Tag": "noindex"})
        assert "redirects" in looked(server, certificate).says


def test_a_certificate_that_nobody_trusts_is_wrong(certificate: Path) -> None:
    with FeedServer(tls=server_context(certificate)) as server:
        finding = looked(server, None)
    assert finding.verdict is DoctorVerdict.WRONG
    assert "certificate" in finding.says


@pytest.mark.parametrize(
    ("site", "words"),
    [
        ("http://letters.example", "starts with http://"),
        ("http://127.0.0.1:8000", "of this machine"),
        ("https://192.168.1.5", "of this machine"),
        ("https://localhost", "of this machine"),
    ],
)
def test_addresses_that_no_reader_can_call_are_not_called(site: str, words: str) -> None:
    (finding,) = check_links(site, SafeClient())
    assert finding.verdict is DoctorVerdict.WRONG
    assert words in finding.says


def test_a_name_that_leads_to_a_private_address_is_wrong() -> None:
    client = SafeClient(resolve=lambda host, port: ["192.168.1.5"])
    (finding,) = check_links("https://letters.example", client)
    assert "not a public address" in finding.says


# --- the mail server


def judged(
    url: str, *, trusted: Path | None = None, is_here: bool = False, now: datetime = NOW
) -> list[Finding]:
    target = parse_email_url(url)
    context = ssl.create_default_context(cafile=str(trusted)) if trusted else None
    return judge_server(target, look_at(target, context=context), is_here=is_here, now=now)  # type: ignore[arg-type]


def topics(findings: list[Finding]) -> dict[str, str]:
    return {finding.topic: finding.verdict.value for finding in findings}


@pytest.mark.parametrize("tls", ["starttls", "implicit"])
def test_a_trusted_certificate_is_good_until_it_soon_ends(tmp_path: Path, tls: str) -> None:
    path = make_certificate(tmp_path, days=2)
    with SmtpServer(tls=tls, context=server_context(path)) as server:
        found = judged(server.url, trusted=path, now=NOW - timedelta(days=30))
        late = judged(server.url, trusted=path)
    assert topics(found) == {SERVER: "good", TLS: "good"}
    assert topics(late)[TLS] == "could be better"


def test_a_certificate_that_is_not_trusted_is_wrong(tmp_path: Path) -> None:
    with SmtpServer(tls="implicit", context=server_context(make_certificate(tmp_path))) as server:
        (finding,) = judged(server.url)
    assert (finding.topic, finding.verdict) == (TLS, DoctorVerdict.WRONG)
    assert "self" in finding.says


def test_starttls_that_is_not_offered_is_wrong() -> None:
    with SmtpServer() as server:
        found = judged(f"smtp+starttls://127.0.0.1:{server.port}")
    assert worst_verdict(found) is DoctorVerdict.WRONG


@pytest.mark.parametrize(
    ("login", "is_here", "verdict"),
    [("", True, "good"), ("", False, "could be better"), ("u:p@", False, "wrong")],
)
def test_no_encryption_is_fine_only_on_this_machine(login: str, is_here: bool, verdict: str) -> None:
    with SmtpServer() as server:
        found = judged(f"smtp://{login}127.0.0.1:{server.port}", is_here=is_here)
    assert topics(found)[TLS] == verdict


def test_a_server_that_is_not_there_or_not_ready_is_wrong() -> None:
    with SmtpServer() as server:
        server.answer("connect", "554 5.3.2 no service", times=1)
        (refused,) = judged(server.url)
        server.answer("connect", DROP, times=1)
        (dropped,) = judged(server.url)
    (gone,) = judged(server.url)
    assert "554" in refused.says
    assert {finding.verdict for finding in (refused, dropped, gone)} == {DoctorVerdict.WRONG}
