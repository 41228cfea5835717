"""What every channel promises: compose is pure, send tells what became of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, runtime_checkable

from delivery.dkim.keys import Key
from feeds.parsing.entry import Entry

NO_VALUES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Letter:
    """What is sent to everybody alike: the form letter of an issue, or one other mail.

    `holes` maps a field's name (lower case) to the token that stands for it in subject, html and text.
    `newsletter` is its name, as in addresses; `newsletter_title` is what readers see. `web_url` is the
    issue's own page, where the newsletter has pages.
    """

    kind: str
    newsletter: str
    title: str
    subject: str
    html: str
    text: str
    token: str
    from_email: str
    reply_to: str = ""
    holes: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    entries: tuple[Entry, ...] = ()
    archive_url: str = ""
    language: str = ""
    is_digest: bool = False
    newsletter_title: str = ""
    web_url: str = ""
    page_url: str = ""
    # The newsletter's own code may have another value of any field for each recipient.
    has_own_code: bool = False
    # Those that sign it, where it is mail; the first is the one that everybody can read.
    signing_keys: tuple[Key, ...] = field(default=(), repr=False)


class Recipient(NamedTuple):
    """One delivery's own part: whom it goes to, and their links."""

    delivery_id: int
    core: str
    label: str
    name: str = ""
    config: Mapping[str, str] = NO_VALUES
    secrets: Mapping[str, str] = NO_VALUES
    unsubscribe_url: str = ""
    manage_url: str = ""
    # Values of fields that the newsletter's own code has for this recipient.
    params: Mapping[str, str] = NO_VALUES

    def __repr__(self) -> str:
        """(Without its secrets.)"""
        return f"Recipient({self.delivery_id})"


class CrashPolicy(Enum):
    """What to do with a message whose worker died while sending it."""

    RESEND = "resend"  # nothing is lost, a duplicate is possible
    LOOK_UP = "look up"  # send again; the session finds out whether the first try arrived
    HOLD = "hold"  # only a person can tell


@dataclass(frozen=True, slots=True)
class Sent:
    """It arrived. `stored` is the message itself when it was kept here instead of being sent."""

    remote_id: str = ""
    stored: bytes | None = None


@dataclass(frozen=True, slots=True)
class Temporary:
    """Try again, at `retry_at` if the server said when. `stops_lane`: nothing of this lane can go now.

    `suspect`: it may be this very message that stops it. `status` is the enhanced code (RFC 3463), if any.
    """

    text: str
    retry_at: datetime | None = None
    stops_lane: bool = False
    suspect: bool = False
    status: str = ""


@dataclass(frozen=True, slots=True)
class Permanent:
    """Will not work for this message; nor for the destination ever, if `disables` it.

    `status` is the enhanced code (RFC 3463) of a server's answer about the recipient or the letter.
    """

    text: str
    disables: bool = False
    status: str = ""


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """The connection went after the message may have been taken. `holds`: only a person can tell."""

    text: str
    holds: bool = False


Outcome = Sent | Temporary | Permanent | Ambiguous


@dataclass(frozen=True, slots=True)
class LaneFacts:
    """The lane as the session needs it. `url` is the account's own, with its password, where it has one."""

    kind: str
    account: str
    url: str = field(default="", repr=False)
    messages_per_connection: int = 100


class Session(Protocol):
    """An open way to the service: one SMTP connection, one API client. Used by one thread at a time."""

    def send(self, message: Any, *, key: str, begun_at: datetime | None, now: datetime) -> Outcome:
        """Sends; never raises for what a server or a network does. `key` is stable per delivery;
        `begun_at` is the first earlier attempt whose end is unknown, if there is one."""
        ...

    def close(self) -> None: ...


class AsyncSession(Protocol):
    """The same for channels that can send without blocking: one message at a time, many such at once."""

    async def send(self, message: Any, *, now: datetime) -> Outcome:
        """Sends; never raises for what a server or a network does."""
        ...

    async def close(self) -> None: ...


@runtime_checkable
class BatchSession(Protocol):
    """A Session that takes up to `batch` recipients of one letter at once."""

    @property
    def batch(self) -> int: ...

    def send_batch(self, letter: Letter, recipients: Sequence[Recipient], *, now: datetime) -> list[Outcome]:
        """The outcome for each recipient, in their order; never raises for what a service does."""
        ...


class Channel(Protocol):
    """A channel, loaded on first use. `serial` lanes send in order, one at a time."""

    key: str
    crash_policy: CrashPolicy
    serial: bool
    concurrency: int
    spacing_seconds: float

    def lane_account(self, core: str, options: Mapping[str, str]) -> str:
        """Which outgoing account carries a newsletter's messages to a destination, by the newsletter's
        `options`: one for all destinations, or the destination itself."""
        ...

    def domain(self, core: str) -> str:
        """The recipient's domain, for limits per domain; empty where there is none."""
        ...

    def compose(self, letter: Letter, recipient: Recipient) -> Any:
        """The message. Pure."""
        ...

    def composer(self, letter: Letter) -> Callable[[Recipient], Any]:
        """`compose` for the very many recipients of one letter. Raises what compose raises."""
        ...

    def connect(self, lane: LaneFacts) -> Session:
        """A session; it may open its connection lazily, at the first send."""
        ...

    def pipelines(self, lane: LaneFacts) -> Callable[[], AsyncSession] | None:
        """What opens asynchronous sessions, each lazily; None where there are only those that block."""
        ...
