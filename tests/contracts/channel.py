"""The contract of every channel; subclasses add a fake server on loopback."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, ClassVar

import pytest

from channels.base import Ambiguous, CrashPolicy, Outcome, Permanent, Sent, Session, Temporary

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
RETRY_AFTER = timedelta(seconds=120)
UNICODE = "Žluťoučký kůň 🦄 👩‍👩‍👧 日本語 שלום"
LONG = "Wörter " * 20_000
HOSTILE = "A\x00 title\r\nBcc: victim@example.org\r\n\r\nwith controls\x1b[31m"


class Answer(Enum):
    """Response of the fake server to the next messages."""

    OK = "takes it"
    RATE_LIMITED = "429 with Retry-After: RETRY_AFTER from NOW"
    BUSY = "cannot now: HTTP 503, SMTP 451"
    REFUSED = "will never take this message: HTTP 422, SMTP 554"
    UNREACHABLE = "times out, or refuses the connection, before anything was sent"
    SILENT = "takes the message, then says nothing until the client gives up"
    REDIRECTS = "redirects to a private address that would take the message"


@dataclass(frozen=True, slots=True)
class Arrival:
    """Message as stored by the server. Equal identities are one message to its reader."""

    identity: str
    text: str


class ChannelContract(ABC):
    """Contract tests; subclasses implement the hooks for the fake server.

    Cases that the service cannot have are in `not_applicable`, with the reason.
    """

    channel: ClassVar[Any]
    not_applicable: ClassVar[Mapping[Answer, str]] = {}

    @abstractmethod
    def session(self) -> Session:
        """Return a new session with the fake server, as by `channel.connect`, with short time-outs."""

    @abstractmethod
    def message(self, *, text: str) -> Any:
        """`channel.compose` a letter whose untrusted part (the post's title) is `text`."""

    @abstractmethod
    def server_says(self, answer: Answer) -> None:
        """Set the server's response from now on."""

    @abstractmethod
    def arrived(self) -> list[Arrival]:
        """Return the messages that the server (or the redirect's target) accepted, oldest first."""

    @abstractmethod
    def acceptable(self, arrival: Arrival) -> bool:
        """Return whether a real server would accept it: length, line length, allowed characters."""

    def send(self, text: str = "A post", *, key: str = "key-1", begun_at: datetime | None = None) -> Outcome:
        """Send one message in a new session."""
        session = self.session()
        try:
            return session.send(self.message(text=text), key=key, begun_at=begun_at, now=NOW)
        finally:
            session.close()

    def meet(self, answer: Answer) -> None:
        """Call `server_says`, or skip the test with the declared reason."""
        if answer in self.not_applicable:
            pytest.skip(self.not_applicable[answer])
        self.server_says(answer)

    def test_a_message_arrives(self) -> None:
        self.meet(Answer.OK)
        outcome = self.send("A post about bees")
        assert isinstance(outcome, Sent)
        assert len(self.arrived()) == 1
        assert "A post about bees" in self.arrived()[0].text

    def test_retry_after_is_the_time_of_the_next_attempt(self) -> None:
        self.meet(Answer.RATE_LIMITED)
        outcome = self.send()
        assert isinstance(outcome, Temporary)
        assert outcome.retry_at is not None
        assert abs(outcome.retry_at - (NOW + RETRY_AFTER)) <= timedelta(seconds=1)
        assert self.arrived() == []

    def test_a_busy_server_is_tried_again(self) -> None:
        self.meet(Answer.BUSY)
        assert isinstance(self.send(), Temporary)
        self.meet(Answer.OK)
        assert isinstance(self.send(), Sent)
        assert len(self.arrived()) == 1

    def test_a_refusal_is_permanent_and_in_the_servers_words(self) -> None:
        self.meet(Answer.REFUSED)
        outcome = self.send()
        assert isinstance(outcome, Permanent)
        assert outcome.text.strip()
        assert not outcome.disables
        assert self.arrived() == []

    def test_a_time_out_before_the_send_is_temporary(self) -> None:
        self.meet(Answer.UNREACHABLE)
        outcome = self.send()
        assert isinstance(outcome, Temporary)
        assert outcome.text.strip()

    def test_a_time_out_after_the_send_is_ambiguous(self) -> None:
        self.meet(Answer.SILENT)
        assert isinstance(self.send(), Ambiguous)

    def test_after_an_ambiguous_end_the_reader_sees_one_message(self) -> None:
        self.meet(Answer.SILENT)
        assert isinstance(self.send(key="key-7"), Ambiguous)
        assert len({arrival.identity for arrival in self.arrived()}) <= 1
        if self.channel.crash_policy is CrashPolicy.HOLD:
            return  # nothing repeats it
        self.server_says(Answer.OK)
        outcome = self.send(key="key-7", begun_at=NOW - timedelta(minutes=5))
        assert isinstance(outcome, Sent)
        assert len({arrival.identity for arrival in self.arrived()}) == 1

    def test_a_redirect_to_a_private_address_is_not_followed(self) -> None:
        self.meet(Answer.REDIRECTS)
        outcome = self.send()
        assert isinstance(outcome, Temporary | Permanent)
        assert outcome.text.strip()
        assert self.arrived() == []

    def test_an_over_long_text_is_cut_to_what_the_server_takes(self) -> None:
        self.meet(Answer.OK)
        assert isinstance(self.send(LONG), Sent)
        [arrival] = self.arrived()
        assert "Wörter" in arrival.text
        assert self.acceptable(arrival)

    def test_unicode_arrives_whole(self) -> None:
        self.meet(Answer.OK)
        assert isinstance(self.send(UNICODE), Sent)
        assert UNICODE in self.arrived()[0].text

    def test_control_characters_do_no_harm(self) -> None:
        self.meet(Answer.OK)
        assert isinstance(self.send(HOSTILE), Sent)
        [arrival] = self.arrived()
        assert self.acceptable(arrival)
        assert "\x00" not in arrival.text
        assert "\x1b" not in arrival.text

    def test_the_same_key_twice_is_one_message(self) -> None:
        if self.channel.crash_policy is CrashPolicy.HOLD:
            pytest.skip("The service knows no key: what may have arrived waits for a person.")
        self.meet(Answer.OK)
        assert isinstance(self.send(key="key-9"), Sent)
        assert isinstance(self.send(key="key-9"), Sent)
        assert len({arrival.identity for arrival in self.arrived()}) == 1

    def test_another_key_is_another_message(self) -> None:
        self.meet(Answer.OK)
        self.send(key="key-1")
        self.send(key="key-2")
        assert len({arrival.identity for arrival in self.arrived()}) == 2

    def test_a_session_goes_on_after_a_failure(self) -> None:
        session = self.session()
        self.server_says(Answer.REFUSED)
        refused = session.send(self.message(text="one"), key="key-1", begun_at=None, now=NOW)
        self.server_says(Answer.OK)
        taken = session.send(self.message(text="two"), key="key-2", begun_at=None, now=NOW)
        session.close()
        assert isinstance(refused, Permanent)
        assert isinstance(taken, Sent)
