"""The contract of every bridge: a JSON service on loopback, with secrets and its own markup."""

import json
import logging
import socket
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import fields as fields_of
from dataclasses import replace
from datetime import timedelta
from ipaddress import ip_network
from types import SimpleNamespace
from typing import Any, ClassVar, TypeVar

import pytest

from channels.base import Ambiguous, LaneFacts, Message, Outcome, Permanent, Sent, Temporary
from channels.http.session import NO_LANE
from channels.letter import Letter, Recipient
from common.net.client import SafeClient
from common.ports.channels import InvalidDestination, ParsedDestination
from feeds.parsing.entry import Entry, Media
from tests.contracts.channel import NOW, RETRY_AFTER, Answer, ChannelContract
from tests.servers.api_server import ApiServer, Reply

LINK = "https://blog.example/posts/bees?a=1&b=2"
# Seconds: enough on a busy machine; and enough for a server that never responds.
PATIENT, IMPATIENT = 10.0, 1.0
# The safe client, which may call loopback here.
LOOPBACK = SafeClient(allow=[ip_network("127.0.0.1/32")])
# Text that is markup in some service. A channel shows it literally, or breaks it.
MARKUP = (
    "@everyone @here @bot@fake.example <@123> <@&9> <!channel> <#C1> @room [a](https://e.example) **b** _c_"
    " `d` ~~e~~ ||f|| <b>g</b> &amp; <https://e.example|h> # i > j \\k"
)
Kind = TypeVar("Kind")


def entry(title: str = "A post", *, link: str = LINK, **fields: Any) -> Entry:
    return Entry(**{"guid": "1", "title": title, "link": link, "authors": ("Ada",), **fields})


def letter(title: str = "A post", **fields: Any) -> Letter:
    """Return an issue of a bridge that posts each post; `entries` for others."""
    usual: dict[str, Any] = {
        "kind": "issue", "newsletter": "bees", "title": title, "subject": "", "html": "", "text": "",
        "token": "t", "from_email": "", "entries": (entry(title),), "newsletter_title": "Bees", "at": NOW,
    }  # fmt: skip
    return Letter(**{**usual, **fields})


def closed_port() -> str:
    """Return the URL of a server that refuses connections."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


def expect(outcome: Outcome, kind: type[Kind], *words: str, **fields: Any) -> Kind:
    """Check the outcome's type, words of its text, and its fields."""
    assert isinstance(outcome, kind), outcome
    for each in words:
        assert each in str(getattr(outcome, "text", "")), outcome
    assert {name: getattr(outcome, name) for name in fields} == fields
    return outcome


def recipient_of(channel: Any, given: Mapping[str, str], **more: str) -> Recipient:
    """Return the destination of those fields, with data that a check would add."""
    made = channel.parse_destination(given)
    return Recipient(1, made.core, made.label, config={**made.config, **more}, secrets=made.secrets)


class ServiceCase:
    """A fake service that runs during each test, and a channel's calls to it. `self.url` is its URL."""

    channel: ClassVar[Any]
    made_by: ClassVar[type[ApiServer]]
    # Fields of the destination, in which {url} is the URL; and data that a check would add.
    given: ClassVar[Mapping[str, str]] = {}
    checked: ClassVar[Mapping[str, str]] = {}
    options: ClassVar[Mapping[str, str]] = {}
    lane: ClassVar[LaneFacts] = NO_LANE
    # In seconds: enough on a busy machine.
    timeout = PATIENT
    # Django's settings, restored after each test.
    site: Any = SimpleNamespace()
    service: Any

    def server(self) -> ApiServer:
        """Return a fake service, not started."""
        return self.made_by()

    def settings(self) -> Mapping[str, Any]:
        """Return settings that lead to the fake at `self.url`, if the destination does not name it."""
        return {}

    def connected(self, timeout: float, **lane: Any) -> Any:
        """Return a session that may call loopback."""
        for name, value in self.settings().items():
            setattr(self.site, name, value)
        ours: Any = type(self.channel)
        return ours(replace(self.lane, **lane), session=LOOPBACK.session(), timeout=timeout)

    def fields(self, **given: str) -> dict[str, str]:
        return {name: value.replace("{url}", self.url) for name, value in {**self.given, **given}.items()}

    def recipient(self) -> Recipient:
        """Return the destination at `self.url`, with its secrets."""
        return recipient_of(self.channel, self.fields(), **self.checked)

    @pytest.fixture(autouse=True)
    def _servers(self, settings: Any) -> Iterator[None]:
        self.site = settings
        with self.server() as self.service, self.server() as self.private:
            self.url = self.service.url
            yield

    def session(self, **lane: Any) -> Any:
        told = self.service.says
        return self.connected(IMPATIENT if told and told.silent else self.timeout, **lane)

    def composed(self, of: Letter | None = None, to: Recipient | None = None, **options: str) -> Any:
        of = of or letter()
        options = {**self.options, **of.options, **options}
        return self.channel.compose(replace(of, options=options), to or self.recipient())

    def post(self, of: Any = None, *, on: Any = None, **arguments: Any) -> Any:
        """Send a letter, or a composed message; unknown arguments are the newsletter's options."""
        names = ("key", "begun_at", "now", "progress")
        given = {name: arguments.pop(name) for name in names if name in arguments}
        what = of if isinstance(of, Message) else self.composed(of, **arguments)
        session = on or self.session()
        try:
            return session.send(what, **{"key": "key-1", "begun_at": None, "now": NOW, **given})
        finally:
            session.close()

    def edit(self, of: Any, remote_id: str, parts: Sequence[str] = (), **options: Any) -> Any:
        what = of if isinstance(of, Message) else self.composed(of, **options)
        with closing(self.session()) as session:
            return session.edit(what, remote_id=remote_id, parts=parts, key="edit-1", now=NOW)

    def delete(self, remote_id: str, parts: Sequence[str] = (), to: Recipient | None = None) -> Any:
        with closing(self.session()) as session:
            return session.delete(self.composed(to=to), remote_id=remote_id, parts=parts, now=NOW)

    def check(self, **given: str) -> ParsedDestination:
        destination = self.channel.parse_destination(self.fields(**given))
        made: ParsedDestination = self.session().check_destination(destination)
        return made

    def refuse_check(self, match: str, **given: str) -> str:
        with pytest.raises(InvalidDestination, match=match) as caught:
            self.check(**given)
        return str(caught.value)


class BridgeContract(ServiceCase, ChannelContract):
    """Contract; a subclass names its fake service and responses."""

    # Responses to a message that is never accepted, a revoked token, and a deleted destination (None: it
    # can't be told from a revoked token).
    refused: ClassVar[Reply]
    unauthorised: ClassVar[Reply]
    gone: ClassVar[Reply | None]
    # The token is part of the address, so a revoked one is a deleted destination.
    token_is_address: ClassVar[bool] = False
    # A token that many destinations share: it stops the account and disables none of them.
    shares_token: ClassVar[bool] = False
    # Texts that no outcome may contain.
    secrets: ClassVar[tuple[str, ...]]
    # For services whose only response is a status of success.
    any_body_will_do: ClassVar[bool] = False

    @abstractmethod
    def is_harmless(self, text: str) -> bool:
        """Return whether nothing in an Arrival's text is markup or a mention."""

    def test_no_library_logs_a_secret_at_debug_level(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.DEBUG):
            self.post(letter())
            self.server_says(Answer.REFUSED)
            self.post(letter())
        for secret in self.secrets:
            assert secret not in caplog.text

    def message(self, *, text: str) -> Any:
        return self.composed(letter(text))

    def server_says(self, answer: Answer) -> None:
        self.url = closed_port() if answer is Answer.UNREACHABLE else self.service.url
        seconds = str(int(RETRY_AFTER.total_seconds()))
        self.service.says = {
            Answer.RATE_LIMITED: Reply(429, {"message": "Too many requests"}, {"Retry-After": seconds}),
            Answer.BUSY: Reply(503, "<html>down for maintenance</html>"),
            Answer.REFUSED: self.refused,
            Answer.SILENT: Reply(takes=True, silent=True),
            Answer.REDIRECTS: Reply(307, headers={"Location": f"{self.private.url}/elsewhere"}),
        }.get(answer)

    def meet(self, answer: Answer) -> None:
        super().meet(answer)
        assert self.private.requests == []

    def test_a_revoked_token_is_said_and_posts_wait_for_another(self) -> None:
        self.service.says = self.unauthorised
        outcome = self.send()
        if self.shares_token:
            assert isinstance(outcome, Temporary)
            assert outcome.stops_account
        elif self.token_is_address:
            assert isinstance(outcome, Permanent)
            assert outcome.disables
        else:
            assert isinstance(outcome, Temporary)
            assert (outcome.stops_lane, outcome.forbidden, outcome.suspect) == (True, True, False)
        assert outcome.text.strip()

    def test_a_destination_that_is_gone_is_disabled(self) -> None:
        if self.gone is None:
            return
        self.service.says = self.gone
        outcome = self.send()
        assert isinstance(outcome, Permanent)
        assert outcome.disables
        assert outcome.text.strip()

    def test_fractions_of_seconds_are_waited_for(self) -> None:
        self.service.says = Reply(429, {"message": "slow down"}, {"Retry-After": "1.75"})
        outcome = self.send()
        assert isinstance(outcome, Temporary)
        assert outcome.retry_at == NOW + timedelta(seconds=1.75)

    @pytest.mark.parametrize(
        "said",
        [
            Reply(401, {"error": "token {}"}),
            Reply(404, {"message": "no {}"}),
            Reply(500, "{}"),
            Reply(422, {"error": "{}"}),
            Reply(307, headers={"Location": "http://{}.example/"}),
            # The stored part of its text ends within the secret.
            Reply(500, dict.fromkeys(("error", "message", "description"), f"{'x' * 490} {{}}")),
        ],
        ids=["401", "404", "500", "422", "307", "cut"],
    )
    def test_no_secret_is_in_what_is_said(self, said: Reply, caplog: pytest.LogCaptureFixture) -> None:
        for secret in self.secrets:
            words = said.body if isinstance(said.body, str | bytes) else json.dumps(said.body)
            body = str(words).replace("{}", secret)
            self.service.says = Reply(said.status, body, said.headers)
            self.url = self.service.url
            outcome = self.send()
            told = f"{outcome!r} {self.message(text='A post')!r} {caplog.text}"
            self.url = closed_port()
            told += repr(self.send())
            assert secret not in told
            assert secret[:8] not in told

    @pytest.mark.parametrize(
        "said",
        [
            pytest.param(Reply(body=b'{"id": "1", "x": "' + b"x" * 3_000_000 + b'"}'), id="3 MB"),
            pytest.param(Reply(body=b"\x00\x00\x00"), id="NULs"),
            pytest.param(Reply(body=b"<html>Log in</html>"), id="a page"),
            pytest.param(Reply(body=b'{"id":' * 100_000), id="nested"),
        ],
    )
    def test_an_answer_that_proves_nothing_is_no_success(self, said: Reply) -> None:
        self.service.says = said
        outcome = self.send()
        assert not isinstance(outcome, Sent) or self.any_body_will_do

    def test_an_answer_of_an_octet_at_a_time_is_not_waited_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("channels.http.transport.MAX_SECONDS", 0.5)
        self.service.says = Reply(body="x" * 600, drips=True)
        assert isinstance(self.send(), Ambiguous)

    @pytest.mark.parametrize("place", ["title", "authors", "summary", "categories", "newsletter", "alt"])
    def test_markup_in_a_post_stays_words(self, place: str) -> None:
        value: Any = (MARKUP,) if place in ("authors", "categories") else MARKUP
        fields: dict[str, Any] = {place: value}
        named: dict[str, str] = {}
        if place == "alt":
            fields = {"media": (Media(f"{self.private.url}/a.png", "image/png", alt=MARKUP),)}
        elif place == "newsletter":
            fields, named = {}, {"newsletter": MARKUP, "newsletter_title": MARKUP}
        post = letter(entries=(entry(**fields),), **named)
        self.server_says(Answer.OK)
        assert isinstance(self.post(post), Sent)
        [arrival] = self.arrived()
        assert self.is_harmless(arrival.text)
        assert self.acceptable(arrival)

    def test_a_picture_at_a_private_address_is_not_fetched_and_stops_no_post(self) -> None:
        picture = Media(f"{self.private.url}/a.png", "image/png", alt="A bee")
        self.server_says(Answer.OK)
        assert isinstance(self.post(letter(entries=(entry(media=(picture,)),))), Sent)
        assert len(self.arrived()) == 1
        assert self.private.requests == []

    def test_a_template_is_posted_in_its_words(self) -> None:
        self.server_says(Answer.OK)
        assert isinstance(self.post(letter("Bees", options={"template": "Read {title}: {link}"})), Sent)
        assert "Read Bees: " in self.arrived()[0].text

    def test_a_digest_names_its_posts_or_how_many(self) -> None:
        entries = tuple(entry(f"T{n}", link=f"https://blog.example/{n}") for n in range(3))
        digest = letter("T0, and 2 more", entries=entries, is_digest=True, web_url="https://l.example/7/")
        self.server_says(Answer.OK)
        assert isinstance(self.post(digest), Sent)
        assert "T0" in self.arrived()[0].text

    @pytest.mark.parametrize("link", ["", "javascript:alert(1)", "ftp://x.example/a", "https://"])
    def test_a_post_without_a_web_link_is_posted_in_its_words(self, link: str) -> None:
        self.server_says(Answer.OK)
        posted = self.post(letter(entries=(entry("Bees", link=link, summary="They dance."),)))
        assert isinstance(posted, Sent)
        [arrival] = self.arrived()
        assert "Bees" in arrival.text
        assert "They dance." in arrival.text
        assert "javascript:" not in arrival.text

    def test_a_post_without_title_and_link_is_posted_with_its_whole_text(self) -> None:
        words = "Bees dance in the hive to tell the others where they found " + "clover, " * 5 + "and thyme."
        self.server_says(Answer.OK)
        assert isinstance(self.post(letter("", entries=(entry("", link="", content=words),))), Sent)
        assert "and thyme." in self.arrived()[0].text

    def test_a_post_without_a_link_leads_to_its_issues_page(self) -> None:
        page = "https://letters.example/s/bees/archive/7/"
        self.server_says(Answer.OK)
        composed = self.composed(letter(entries=(entry(link=""),), web_url=page))
        assert page in str([getattr(composed, each.name) for each in fields_of(composed)])
        assert isinstance(self.post(letter(entries=(entry(link=""),), web_url=page)), Sent)

    def test_a_digest_without_a_page_is_posted(self) -> None:
        entries = tuple(entry(f"T{n}", link=f"https://blog.example/{n}") for n in range(3))
        self.server_says(Answer.OK)
        assert isinstance(self.post(letter("T0, and 2 more", entries=entries, is_digest=True)), Sent)
        assert "T0" in self.arrived()[0].text

    def test_a_post_without_link_and_words_is_refused_without_asking_anyone(self) -> None:
        outcome = self.post(letter("", entries=(entry("", link="", authors=()),)))
        assert isinstance(outcome, Permanent)
        assert not outcome.disables
        assert self.service.requests == []
