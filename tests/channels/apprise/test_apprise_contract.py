"""The Apprise channel with a fake Gotify server: the contract, and results without receipts."""

import re
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import ip_network
from typing import Any, ClassVar
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.apprise.bridge import (
    FIXED_SERVERS,
    OWN_SERVERS,
    AppriseBridge,
    ApprisedService,
    CannotUse,
    GuardedRequests,
    guard,
    service_address,
)
from channels.base import Ambiguous, Permanent, Sent, Temporary
from channels.letter import Recipient
from common.net.addresses import Network
from common.ports.channels import InvalidDestination, ParsedDestination
from common.truncation import fit_parts
from tests.contracts.bridge import (
    LINK,
    PATIENT,
    BridgeContract,
    ServiceCase,
    closed_port,
    entry,
    expect,
    letter,
)
from tests.contracts.channel import NOW, Answer, Arrival
from tests.examples import NIGHTLY, examples
from tests.servers.api_server import Reply
from tests.servers.services.gotify import TOKEN, GotifyServer, error

pytest.importorskip("apprise")

CHANNEL = AppriseBridge()
LOOPBACK_ONLY = [ip_network("127.0.0.1/32")]
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


def check(destination: ParsedDestination, allow: Sequence[Network] = LOOPBACK_ONLY) -> None:
    asked = AppriseBridge(timeout=PATIENT)
    asked.allow = allow
    asked.check_destination(destination)


def parsed(url: str) -> ParsedDestination:
    return CHANNEL.parse_destination({"account": "phone", "apprise_url": url})


def at(url: str) -> Recipient:
    made = parsed(url.replace("http://", "gotify://") + f"/{TOKEN}")
    return Recipient(1, made.core, made.label, config=made.config, secrets=made.secrets)


class Apprising(ServiceCase):
    channel, made_by = CHANNEL, GotifyServer
    allow: ClassVar[Sequence[Network]] = LOOPBACK_ONLY
    service: GotifyServer

    def connected(self, timeout: float, **lane: Any) -> Any:
        made = super().connected(timeout, **lane)
        made.allow = self.allow
        return made

    def recipient(self) -> Recipient:
        return at(self.url)


class TestAppriseContract(Apprising, BridgeContract):
    not_applicable: ClassVar[dict[Answer, str]] = {Answer.RATE_LIMITED: "Apprise hides the answer's headers."}
    refused = error(400, "Field 'message' is required")
    token_is_address = True
    unauthorised = error(401, "Unauthorized")
    gone = error(404, "Not Found")
    any_body_will_do = True
    secrets = (TOKEN,)

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


class TestOutcomes(Apprising):
    def test_a_success_has_no_receipt(self) -> None:
        assert self.post() == Sent()
        [request] = self.service.requests
        assert request.json["message"] == f"[bees] New Post: A post, by Ada {LINK}"
        assert "apprise" not in f"{request.headers} {request.json}".lower()

    def test_a_refusal_is_believed_the_third_time(self) -> None:
        self.service.says = error(401, "Unauthorized")
        progress: Any = {}
        for _ in range(2):
            outcome = expect(self.post(progress=progress), Temporary)
            progress = outcome.progress
        expect(self.post(progress=progress), Permanent, disables=True)

    @pytest.mark.parametrize(("status", "stops"), [(429, True), (503, True), (500, False), (307, True)])
    def test_a_number_in_the_log_says_that_nothing_was_sent(self, status: int, stops: bool) -> None:
        self.service.says = error(status, "no")
        expect(self.post(), Temporary, stops_lane=stops)

    def test_a_lost_answer_leaves_it_open(self) -> None:
        self.service.says = Reply(takes=True, hangs_up=True)
        assert isinstance(self.post(), Ambiguous)

    def test_a_private_address_is_refused_before_anything_is_sent(self) -> None:
        session = self.session()
        session.allow = []
        expect(self.post(on=session), Temporary, "private address")
        assert self.service.requests == []

    def test_two_messages_do_not_wait_for_each_other(self) -> None:
        session = self.session()
        for key in ("a", "b"):
            assert self.post(on=session, key=key) == Sent()
        assert len(self.service.messages) == 2

    def test_a_link_beyond_measure_is_refused_here(self) -> None:
        long = letter(entries=(entry(link="https://e.example/" + "x" * 3_000),))
        assert isinstance(self.post(long), Permanent)
        assert self.service.requests == []


class TestDestination(Apprising):
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

    def test_a_url_that_apprise_cannot_read_is_refused(self) -> None:
        with pytest.raises(InvalidDestination, match="can’t read"):
            check(parsed("pover://x"))

    def test_a_url_with_two_targets_is_refused(self) -> None:
        url = "signal://127.0.0.1:1/15551234567/15551234568/15551234569"
        with pytest.raises(InvalidDestination, match="one target"):
            check(parsed(url))

    def test_a_server_that_does_not_listen_is_refused(self) -> None:
        for url, allow, words in (
            (closed_port(), LOOPBACK_ONLY, "can’t be reached"),
            (self.url, [], "private address"),
        ):
            destination = parsed(url.replace("http://", "gotify://") + f"/{TOKEN}")
            with pytest.raises(InvalidDestination, match=words):
                check(destination, allow)
        check(parsed(self.url.replace("http", "gotify") + f"/{TOKEN}"))

    def test_a_host_among_the_user_and_password_is_refused(self) -> None:
        url = f"gotify://user:pass@127.0.0.1:{urlsplit(self.url).port}@good.example/{TOKEN}"
        with pytest.raises(CannotUse):
            ApprisedService(url, timeout=PATIENT, allow=[]).send("x")
        assert self.service.requests == []


def test_every_service_on_the_list_is_one_of_apprises() -> None:
    from apprise.manager_plugins import NotificationManager

    assert set(NotificationManager().schemas()) >= OWN_SERVERS | FIXED_SERVERS


@NIGHTLY
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
    what = CHANNEL.compose(letter(entries=(entry(title, authors=(name,)),)), at("http://e.example"))
    text = fit_parts(what.body, lambda text: len(text) <= most)
    assert text.endswith(LINK)
    assert not re.search(r"@\w|<[@!#\w]|\]\(", text)
