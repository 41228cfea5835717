"""The Apprise channel with a fake Gotify server: the contract, and results without receipts."""

import re
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from ipaddress import ip_network
from typing import Any, ClassVar
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.apprise.service import (
    FIXED_SERVERS,
    OWN_SERVERS,
    ApprisedService,
    CannotUse,
    GuardedRequests,
    guard,
    service_address,
)
from channels.apprise.session import AppriseChannel, AppriseSession
from channels.apprise.spec import AppriseSpec
from channels.base import Ambiguous, Channel, CrashPolicy, Message, Permanent, Sent, Session, Temporary
from channels.letter import Letter, Recipient
from common.net.addresses import Network
from common.ports.channels import InvalidDestination, ParsedDestination
from common.truncation import FittingPart, fit_parts
from tests.contracts.bridge import LINK, PATIENT, BridgeContract, closed_port, entry, letter
from tests.contracts.channel import NOW, Answer, Arrival
from tests.examples import examples
from tests.servers.api_server import Reply
from tests.servers.services.gotify import TOKEN, GotifyServer, error

pytest.importorskip("apprise")

CHANNEL, KIND = AppriseChannel(), AppriseSpec()
LOOPBACK_ONLY = [ip_network("127.0.0.1/32")]


def parsed(url: str) -> ParsedDestination:
    return KIND.parse_destination({"account": "phone", "apprise_url": url})


def at(url: str) -> Recipient:
    made = parsed(url.replace("http://", "gotify://") + f"/{TOKEN}")
    return Recipient(1, made.core, made.label, config=made.config, secrets=made.secrets)


def plain(url: str, of: Letter | None = None, **options: str) -> Message[Sequence[FittingPart]]:
    return CHANNEL.composer(replace(of or letter(), options=options))(at(url))


def send(what: Message[Sequence[FittingPart]], **arguments: Any) -> Any:
    session = AppriseSession(allow=LOOPBACK_ONLY, timeout=PATIENT)
    return session.send(what, **{"key": "k", "begun_at": None, "now": NOW, **arguments})


def check(destination: ParsedDestination, allow: Sequence[Network] = LOOPBACK_ONLY) -> None:
    AppriseSession(allow=allow, timeout=PATIENT).check(destination)


@pytest.fixture
def server() -> Iterator[GotifyServer]:
    with GotifyServer() as running:
        yield running


class TestAppriseContract(BridgeContract):
    channel: ClassVar[Channel] = CHANNEL
    not_applicable: ClassVar[dict[Answer, str]] = {Answer.RATE_LIMITED: "Apprise hides the answer's headers."}
    refused = error(400, "Field 'message' is required")
    token_is_address = True
    unauthorised = error(401, "Unauthorized")
    gone = error(404, "Not Found")
    any_body_will_do = True
    secrets = (TOKEN,)
    service: GotifyServer

    def server(self) -> GotifyServer:
        return GotifyServer()

    def connected(self, timeout: float) -> Session:
        return AppriseSession(allow=LOOPBACK_ONLY, timeout=timeout)

    def recipient(self) -> Recipient:
        return at(self.url)

    def arrived(self) -> list[Arrival]:
        texts = [said["message"] for said in self.service.messages]
        return [Arrival(str(number), text) for number, text in enumerate(texts)]

    def acceptable(self, arrival: Arrival) -> bool:
        return LINK in arrival.text and len(arrival.text) <= 2_000

    def is_harmless(self, text: str) -> bool:
        return not re.search(r"@\w|<[@!#\w]|\]\(", text)

    def send(self, text: str = "A post", **arguments: Any) -> Any:
        """A refusal counts after two earlier ones."""
        session = self.session()
        given: dict[str, Any] = {"key": "key-1", "begun_at": None, "now": NOW, "progress": {"refusals": 2}}
        return session.send(self.message(text=text), **{**given, **arguments})

    def test_fractions_of_seconds_are_waited_for(self) -> None:
        pytest.skip(self.not_applicable[Answer.RATE_LIMITED])

    def test_an_answer_of_an_octet_at_a_time_is_not_waited_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.skip("Apprise reads for itself; its lane waits for it, and no other does.")

    def test_an_option_says_what_happens_when_nobody_knows(self) -> None:
        assert CHANNEL.crash_policy is CrashPolicy.HOLD
        assert KIND.parse_options({"when_unsure": "skip"}) == {"when_unsure": "skip"}


class TestOutcomes:
    def test_a_success_has_no_receipt(self, server: GotifyServer) -> None:
        assert send(plain(server.url)) == Sent()
        [request] = server.requests
        assert request.json["message"] == f"[bees] New Post: A post, by Ada {LINK}"
        assert "apprise" not in f"{request.headers} {request.json}".lower()

    def test_a_refusal_is_believed_the_third_time(self, server: GotifyServer) -> None:
        server.says = error(401, "Unauthorized")
        progress: Any = {}
        for _ in range(2):
            outcome = send(plain(server.url), progress=progress)
            assert isinstance(outcome, Temporary)
            progress = outcome.progress
        outcome = send(plain(server.url), progress=progress)
        assert isinstance(outcome, Permanent)
        assert outcome.disables

    @pytest.mark.parametrize(("status", "stops"), [(429, True), (503, True), (500, False), (307, True)])
    def test_a_number_in_the_log_says_that_nothing_was_sent(
        self, server: GotifyServer, status: int, stops: bool
    ) -> None:
        server.says = error(status, "no")
        outcome = send(plain(server.url))
        assert isinstance(outcome, Temporary)
        assert outcome.stops_lane is stops

    def test_a_lost_answer_leaves_it_open(self, server: GotifyServer) -> None:
        server.says = Reply(takes=True, hangs_up=True)
        assert isinstance(send(plain(server.url)), Ambiguous)

    def test_a_private_address_is_refused_before_anything_is_sent(self, server: GotifyServer) -> None:
        session = AppriseSession(allow=[], timeout=PATIENT)
        outcome = session.send(plain(server.url), key="k", begun_at=None, now=NOW)
        assert isinstance(outcome, Temporary)
        assert "private address" in outcome.text
        assert server.requests == []

    def test_two_messages_do_not_wait_for_each_other(self, server: GotifyServer) -> None:
        session = AppriseSession(allow=LOOPBACK_ONLY, timeout=PATIENT)
        for key in ("a", "b"):
            assert session.send(plain(server.url), key=key, begun_at=None, now=NOW) == Sent()
        assert len(server.messages) == 2

    def test_a_link_beyond_measure_is_refused_here(self, server: GotifyServer) -> None:
        long = letter(entries=(entry(link="https://e.example/" + "x" * 3_000),))
        assert isinstance(send(plain(server.url, long)), Permanent)
        assert server.requests == []


class TestDestination:
    @pytest.mark.parametrize(
        ("url", "core"),
        [
            ("gotifys://gotify.example/very-secret", "phone@gotifys"),
            ("GOTIFY://gotify.example:8080/very-secret", "phone@gotify"),
            ("pover://user@very-secret", "phone@pover"),
        ],
    )
    def test_it_is_named_by_its_service(self, url: str, core: str) -> None:
        made = parsed(url)
        assert made.core == core
        assert "very-secret" not in f"{made.core} {made.label} {made.config}"

    @pytest.mark.parametrize(
        "url",
        [
            "", "very-secret", "https://very-secret.example", "syslog://very-secret", "json://very-secret",
            "discord://1/very-secret", "mailto://very-secret", "gotify:///very-secret", "gotify://[x/very-secret",
            "gotifys://e.example/very-secret?verify=no", "gotifys://e.example/very-secret?redirect=yes",
            "gotifys://e.example/very-secret?retry=9", "gotifys://e.example/very secret", "file:///etc/very-secret",
        ],
    )  # fmt: skip
    def test_what_may_not_be_used_is_refused_and_not_repeated(self, url: str) -> None:
        with pytest.raises(InvalidDestination, match="apprise_url: ") as caught:
            parsed(url)
        assert "very-secret" not in str(caught.value)

    def test_a_url_that_apprise_cannot_read_is_refused(self) -> None:
        with pytest.raises(InvalidDestination, match="can’t read"):
            check(parsed("pover://x"))

    def test_a_url_with_two_targets_is_refused(self) -> None:
        url = "signal://127.0.0.1:1/15551234567/15551234568/15551234569"
        with pytest.raises(InvalidDestination, match="one target"):
            check(parsed(url))

    def test_a_server_that_does_not_listen_is_refused(self, server: GotifyServer) -> None:
        for url, allow, words in (
            (closed_port(), LOOPBACK_ONLY, "can’t be reached"),
            (server.url, [], "private address"),
        ):
            destination = parsed(url.replace("http://", "gotify://") + f"/{TOKEN}")
            with pytest.raises(InvalidDestination, match=words):
                check(destination, allow)
        check(parsed(server.url.replace("http", "gotify") + f"/{TOKEN}"))


def test_every_service_on_the_list_is_one_of_apprises() -> None:
    from apprise.manager_plugins import NotificationManager

    assert set(NotificationManager().schemas()) >= OWN_SERVERS | FIXED_SERVERS


HOSTS = [
    "127.0.0.1:{port}",
    "good.example",
    "[::ffff:127.0.0.1]:{port}",
    "localhost:{port}",
    "2130706433:{port}",
]
PARTS = st.sampled_from([*HOSTS, "user", "pass", "a" * 15, "token", "15551234567", "", "%40", "..", "1"])
SIGNS = st.sampled_from(
    ["@", ":", "/", "//", "?", "#", "%23", "%40", "\\", ";", "&url=", "?host=", "@good.example/"]
)
ADDRESSES = st.builds(
    lambda schema, pairs: f"{schema}://" + "".join(part + sign for part, sign in pairs),
    st.sampled_from(sorted(OWN_SERVERS)),
    st.lists(st.tuples(PARTS, SIGNS), min_size=1, max_size=6),
)


@pytest.mark.slow
def test_no_address_leads_a_service_to_a_host_that_may_not_be_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """However Apprise's plugins parse the URL. All names and ports lead to the server here."""
    urls: list[str] = []
    with GotifyServer() as server:

        @settings(max_examples=examples(10_000))
        @given(ADDRESSES)
        def try_all(address: str) -> None:
            url = address.replace("{port}", str(urlsplit(server.url).port))
            try:
                service_address(url)
                service = ApprisedService(url, timeout=PATIENT, allow=[])
            except (ValueError, CannotUse):
                return
            with suppress(CannotUse):
                service.send("x")
            urls.append(url)

        here = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", urlsplit(server.url).port))]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: here)
        try_all()
        assert server.requests == []
    assert urls


def test_a_host_among_the_user_and_password_is_refused(server: GotifyServer) -> None:
    url = f"gotify://user:pass@127.0.0.1:{urlsplit(server.url).port}@good.example/{TOKEN}"
    with pytest.raises(CannotUse):
        ApprisedService(url, timeout=PATIENT, allow=[]).send("x")
    assert server.requests == []


def test_each_service_calls_by_the_guarded_session_alone() -> None:
    from apprise.manager_plugins import NotificationManager

    for schema in OWN_SERVERS | FIXED_SERVERS:
        plugin = NotificationManager()[schema]
        guard(plugin)
        assert [
            (name, module.__name__)
            for module in {sys.modules[base.__module__] for base in plugin.__mro__[:-1]}
            for name, value in vars(module).items()
            if getattr(value, "__name__", "")
            in ("requests", "socket", "http.client", "urllib.request", "urllib3")
            and not isinstance(value, GuardedRequests)
            and module.__name__.startswith("apprise.plugins.")
        ] == []


@given(st.text(max_size=3_000), st.text(max_size=3_000), st.sampled_from([160, 2_000]))
def test_any_message_keeps_its_link_whole_within_a_services_limit(title: str, name: str, most: int) -> None:
    what = plain("http://e.example", letter(entries=(entry(title, authors=(name,)),)))
    text = fit_parts(what.body, lambda text: len(text) <= most)
    assert text.endswith(LINK)
    assert not re.search(r"@\w|<[@!#\w]|\]\(", text)
