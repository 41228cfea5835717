"""Interfaces of channels: compose is pure, and send returns an outcome."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from channels.letter import Letter, Recipient
from channels.rules.breakers import Breaker
from channels.rules.meaning import Meaning

B = TypeVar("B")
NOTHING: Mapping[str, Any] = MappingProxyType({})
# Of a post whose link can't be shortened.
TOO_LONG = "The link alone is longer than the service allows."


class CrashPolicy(Enum):
    """Treatment of a message whose worker died while sending it."""

    RESEND = "resend"  # a duplicate is possible
    LOOK_UP = "look up"  # send again; the session looks up the first attempt
    HOLD = "hold"  # a person must decide


@dataclass(frozen=True, slots=True)
class Sent:
    """Success. `stored` is the message if it was kept here instead.

    `url` is public. `parts` are the ids of a thread's other posts. `remark` says what was refused for good.
    """

    remote_id: str = ""
    stored: bytes | None = None
    url: str = ""
    parts: tuple[str, ...] = ()
    remark: str = ""


class Holdup(StrEnum):
    """Obstacle besides recipient and lane, in words for people."""

    DOMAIN = "Email to this domain is refused"
    SENDER = "The sender is refused"
    LETTER = "The email is too large"


@dataclass(frozen=True, slots=True)
class Temporary:
    """Retryable failure; `retry_at` is the server's time, if any.

    `stops_lane`, `stops_account`: nothing else of it can be sent. `suspect`: this message may be the cause.
    `crowded`: too many connections. `status`: enhanced code (RFC 3463). `holdup`: retries fail until it
    changes. `meaning`: of a mail server's permanent refusal. `waits`: no error; continue exactly at
    `retry_at` with the `progress` (see Session.send). `forbidden`: the destination refuses the account until
    a person restores a permission or connects it again.
    """

    text: str
    retry_at: datetime | None = None
    stops_lane: bool = False
    stops_account: bool = False
    waits: bool = False
    progress: Mapping[str, Any] | None = field(default=None, repr=False)
    suspect: bool = False
    crowded: bool = False
    forbidden: bool = False
    status: str = ""
    holdup: Holdup | None = None
    meaning: Meaning | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Permanent:
    """Final failure of a message, and of its destination if it `disables` it.

    `status`: enhanced code (RFC 3463) about recipient or letter. `needless`: nothing is left to do.
    """

    text: str
    disables: bool = False
    needless: bool = False
    status: str = ""
    meaning: Meaning | None = field(default=None, compare=False)


# Somebody deleted the post.
NO_POST = Permanent("The post no longer exists.", needless=True)


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """The connection was lost, perhaps after acceptance. `holds`: a person must decide."""

    text: str
    holds: bool = False
    progress: Mapping[str, Any] | None = field(default=None, repr=False)


Outcome = Sent | Temporary | Permanent | Ambiguous


class CannotPost(ValueError):
    """The message is for people."""


@dataclass(frozen=True, slots=True)
class Message(Generic[B]):
    """A post's `body` in the form of its service, for one destination. With a `refusal` there is none."""

    body: B
    config: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    refusal: str = ""


class Shape(StrEnum):
    """Kind of a message at its service."""

    POST = "post"
    PUSH = "push"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class LinkCard:
    """`source` names the linked site, `picture` is a URL."""

    title: str = ""
    text: str = ""
    source: str = ""
    picture: str = ""
    above: str = ""
    picture_below: bool = False


@dataclass(frozen=True, slots=True)
class Looks:
    """Preview without markup; `length` is in the service's `unit` (default: characters).

    `limit` 0 means none. With a `refusal` there is nothing to post. `title` is a push's or thread's,
    `pictures` are URLs, `answers` a thread's other posts, `notes` what else is sent.
    """

    text: str
    length: int = 0
    limit: int = 0
    refusal: str = ""
    shape: Shape = Shape.POST
    title: str = ""
    card: LinkCard | None = None
    pictures: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    unit: str = ""

    @property
    def measured(self) -> str:
        """Such as “1,024 of 4,096 bytes”."""
        return f"{self.length:,} of {self.limit:,} {self.unit}".rstrip()


@dataclass(frozen=True, slots=True)
class LaneFacts:
    """`credentials` of the account, and `state` from an earlier session."""

    kind: str
    account: str
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    messages_per_connection: int = 100
    state: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class LaneDefaults:
    """Defaults of new lanes. `spacing_seconds` is a pause after each message.

    With `grown`, as many connections are opened first, and up to `concurrency` while the server answers well.
    `rate` is messages a second (None: unlimited), up to `burst` at once. For messages that cost: `per_day`
    limits 24 hours, `per_recipient` a UTC day.
    """

    serial: bool = True
    concurrency: int = 1
    grown: int | None = None
    spacing_seconds: float = 0.0
    rate: float | None = None
    burst: int = 10
    per_day: int | None = None
    per_recipient: int | None = None


class Session(Protocol):
    """Connection for one thread at a time."""

    def send(
        self,
        message: Any,
        *,
        key: str,
        begun_at: datetime | None,
        now: datetime,
        progress: Mapping[str, Any] = NOTHING,
    ) -> Outcome:
        """Send; never raises for server or network errors.

        `key` is stable per delivery. `begun_at`: first attempt with an unknown outcome. `progress`: from an
        earlier outcome.
        """
        ...

    def close(self) -> None: ...


@runtime_checkable
class StatefulSession(Protocol):
    """Session with state for its lane's next sessions, such as a renewed token."""

    def new_state(self) -> Mapping[str, str] | None:
        """Return the state if changed since the last call."""
        ...


@runtime_checkable
class CountsRefusals(Protocol):
    """Session of a service with a breaker."""

    def new_refusals(self) -> int:
        """Return the number of refusals since the last call."""
        ...


@runtime_checkable
class Edits(Protocol):
    """Session that can edit posts, idempotently."""

    def edit(self, message: Any, *, remote_id: str, parts: Sequence[str], key: str, now: datetime) -> Outcome:
        """Edit the post `remote_id` and its `parts`; never raises for service errors.

        `key` is the edit's own. A missing post gives NO_POST. The ids in Sent are stored.
        """
        ...


@runtime_checkable
class Deletes(Protocol):
    """Session that can delete posts, idempotently."""

    def delete(self, message: Any, *, remote_id: str, parts: Sequence[str], now: datetime) -> Outcome:
        """Delete the post and its parts; never raises for service errors.

        A missing post is Sent, too. Only the `message`'s destination is used.
        """
        ...


class AsyncSession(Protocol):
    """Sends without blocking, one message at a time."""

    @property
    def is_ready(self) -> bool: ...

    async def open(self) -> Temporary | None:
        """Return the obstacle, if any."""
        ...

    async def send(self, message: Any, *, now: datetime, following: Callable[[], Any]) -> Outcome:
        """Send; never raises for server or network errors.

        May call `following` once for the next message (None: unknown) and prepare the server. None of its
        text may be sent early.
        """
        ...

    def cut_off(self) -> None:
        """Close at once, for good; a pending message ends as a lost connection."""
        ...

    async def close(self) -> None: ...


class MessageSource(Protocol):
    """The messages of one connection, in a row."""

    def now(self) -> datetime: ...

    def may_begin(self) -> bool:
        """Whether the message announced last still may."""
        ...

    def begin(self) -> None:
        """Its text is being sent."""
        ...

    def following(self) -> Any: ...

    def accepted(self, outcome: Sent) -> None:
        """The one begun last was. `Stream.go_on` is called once that is durable."""
        ...


class Stream(Protocol):
    """`ended`: nothing is announced, or `send` has to continue with the message begun or announced last."""

    @property
    def ended(self) -> Awaitable[None]: ...

    def go_on(self) -> None: ...


@runtime_checkable
class StreamingSession(Protocol):
    """AsyncSession that sends announced messages in a row by itself."""

    def stream(self, source: MessageSource) -> Stream: ...


@runtime_checkable
class BatchSession(Protocol):
    """Accepts up to `batch` recipients of a letter at once."""

    @property
    def batch(self) -> int: ...

    def send_batch(self, letter: Letter, recipients: Sequence[Recipient], *, now: datetime) -> list[Outcome]:
        """Return the outcomes in order; never raises for service errors."""
        ...


@runtime_checkable
class Previews(Protocol):
    """Channel with previews; for others, the text is shown."""

    def preview(self, message: Any) -> Looks:
        """Pure; never raises DoesNotFit."""
        ...


class Channel(Protocol):
    """Loaded on first use.

    `account_lane` has defaults for an account that several lanes share; its limits apply too. `breaker`
    pauses requests if the service blocks clients after many refusals.
    """

    key: str
    crash_policy: CrashPolicy
    lane: LaneDefaults
    account_lane: LaneDefaults | None = None
    breaker: Breaker | None = None

    def lane_account(self, core: str, options: Mapping[str, str]) -> str:
        """Return the account for a destination, by the newsletter's `options`, or the destination itself."""
        ...

    def shared_account(self, core: str) -> str:
        """Return the account shared by destinations, such as a bot, or ""."""
        return ""

    def domain(self, core: str) -> str:
        """Return the recipient's domain for limits, or ""."""
        return ""

    def compose(self, letter: Letter, recipient: Recipient) -> Any:
        """Pure."""
        return self.composer(letter)(recipient)

    def composer(self, letter: Letter) -> Callable[[Recipient], Any]:
        """Return `compose` for many recipients. Raises the same errors."""
        ...

    def connect(self, lane: LaneFacts) -> Session: ...

    def sessions(self, lane: LaneFacts) -> Callable[[], AsyncSession] | None:
        """Return a factory of lazy asynchronous sessions, or None."""
        return None
