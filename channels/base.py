"""What every channel promises: compose is pure, and send returns the message's outcome."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

from channels.letter import Letter, Recipient
from channels.rules.breakers import Breaker
from channels.rules.meaning import Meaning

NOTHING: Mapping[str, Any] = MappingProxyType({})


class CrashPolicy(Enum):
    """What to do with a message whose worker died while sending it."""

    RESEND = "resend"  # nothing is lost, a duplicate is possible
    LOOK_UP = "look up"  # send again; the session finds out whether the first try arrived
    HOLD = "hold"  # only a person can tell


@dataclass(frozen=True, slots=True)
class Sent:
    """It arrived. `stored` is the message itself when it was kept here instead of being sent.

    `url` is where people see it. `parts` are the service's ids of a thread's other posts, in their order.
    `remark` says what of it was refused for good, such as the rest of a thread.
    """

    remote_id: str = ""
    stored: bytes | None = None
    url: str = ""
    parts: tuple[str, ...] = ()
    remark: str = ""


class Holdup(StrEnum):
    """What a message waits for that is neither its recipient's doing nor the lane's, in words for people."""

    DOMAIN = "Letters to this domain are refused"
    SENDER = "The sender is refused"
    LETTER = "The letter is too large"


@dataclass(frozen=True, slots=True)
class Temporary:
    """Try again, at `retry_at` if the server said when. `stops_lane`: nothing of this lane can go now.

    `suspect`: it may be this very message that stops it. `crowded`: the service has no room for so many
    connections at a time. `status` is the enhanced code (RFC 3463), if any. `holdup`: trying it again does
    not help before that has changed. `meaning` is what a mail server meant, if one refused it for good.
    `stops_account`: nothing of any lane of this account can go now. `waits`: nothing went wrong, it goes on
    exactly at `retry_at`, with the `progress` it made so far (see Session.send). `forbidden`: the lane's
    destination refuses the account until a person gives a right back.
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
    """Will not work for this message; nor for the destination ever, if `disables` it.

    `status` is the enhanced code (RFC 3463) of a server's answer about the recipient or the letter, `meaning`
    what a mail server meant by it. `needless`: nothing went wrong, there is nothing to do any more.
    """

    text: str
    disables: bool = False
    needless: bool = False
    status: str = ""
    meaning: Meaning | None = field(default=None, compare=False)


# Somebody took the post away, at its service.
NO_POST = Permanent("The post is no longer there.", needless=True)


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """The connection went after the message may have been taken. `holds`: only a person can tell."""

    text: str
    holds: bool = False
    progress: Mapping[str, Any] | None = field(default=None, repr=False)


Outcome = Sent | Temporary | Permanent | Ambiguous


class Shape(StrEnum):
    """What a message is at its service."""

    POST = "post"
    PUSH = "push"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class LinkCard:
    """What stands in a frame below a post's words. `source` is where it leads to, `picture` an address."""

    title: str = ""
    text: str = ""
    source: str = ""
    picture: str = ""
    above: str = ""
    picture_below: bool = False


@dataclass(frozen=True, slots=True)
class Looks:
    """How a message would stand at its service: the text without markup, and its length by the service's own
    measure, in `unit` (none: characters). `limit` 0: it knows none.

    With a `refusal` there is nothing to post. `title` is a push's or a thread's, `pictures` are addresses,
    `answers` are the other posts of a thread. `notes` are what else is sent, such as where a push leads.
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
    """The lane as the session needs it.

    `credentials` are its account's, where it has one. `state` is what an earlier session wanted kept.
    """

    kind: str
    account: str
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    messages_per_connection: int = 100
    state: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class LaneDefaults:
    """How a lane is made: in order or not, its width, the pause after each message, and its rate.

    `rate` is messages a second, up to `burst` at once; None: no limit. `per_day` is the most in 24 hours,
    `per_recipient` the most to one recipient in a day of UTC: of messages that cost.
    """

    serial: bool = True
    concurrency: int = 1
    spacing_seconds: float = 0.0
    rate: float | None = None
    burst: int = 10
    per_day: int | None = None
    per_recipient: int | None = None


class Session(Protocol):
    """An open way to the service: one SMTP connection, one API client. Used by one thread at a time."""

    def send(
        self,
        message: Any,
        *,
        key: str,
        begun_at: datetime | None,
        now: datetime,
        progress: Mapping[str, Any] = NOTHING,
    ) -> Outcome:
        """Sends; never raises for what a server or a network does. `key` is stable per delivery;
        `begun_at` is the first earlier attempt whose end is unknown, if there is one. `progress` is what an
        earlier attempt's outcome carried."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class StatefulSession(Protocol):
    """A Session that wants something kept for its lane's next sessions, such as a token that was renewed."""

    def new_state(self) -> Mapping[str, str] | None:
        """What is to be kept since it was asked last; None: nothing new. Asked after each message."""
        ...


@runtime_checkable
class CountsRefusals(Protocol):
    """A Session of a service with a breaker."""

    def new_refusals(self) -> int:
        """How many requests the service has refused since it was asked last. Asked after each message."""
        ...


@runtime_checkable
class Edits(Protocol):
    """A Session of a service whose posts can be changed. Doing it again does no harm."""

    def edit(
        self,
        message: Any,
        *,
        remote_id: str,
        parts: Sequence[str],
        key: str,
        now: datetime,
    ) -> Outcome:
        """Makes the post that was sent as `remote_id`, with its `parts`, say what `message` says now; never
        raises for what a service does. `key` is the edit's own.

        One that is gone is NO_POST. After Sent, what it says is kept.
        """
        ...


@runtime_checkable
class Deletes(Protocol):
    """A Session of a service whose posts can be taken back. Doing it again does no harm."""

    def delete(self, message: Any, *, remote_id: str, parts: Sequence[str], now: datetime) -> Outcome:
        """Takes the post and its parts back; never raises for what a service does. One that is gone already
        is Sent, too. Of the `message` only the destination counts."""
        ...


class AsyncSession(Protocol):
    """The same for channels that can send without blocking: one message at a time, many such at once."""

    @property
    def is_ready(self) -> bool:
        """Whether it is connected, and fit for the next message."""
        ...

    async def open(self) -> Temporary | None:
        """Connects for the next message. Returns the obstacle, if there is one."""
        ...

    async def send(self, message: Any, *, now: datetime, following: Callable[[], Any]) -> Outcome:
        """Sends; never raises for what a server or a network does.

        A session may ask `following` once, for the message that it will be given next (None: not known yet),
        and prepare the server for it. Nothing of its text may leave before it is given.
        """
        ...

    def cut_off(self) -> None:
        """Close at once, for good; a message on its way ends with the outcome of a lost connection."""
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


@runtime_checkable
class Previews(Protocol):
    """A Channel that knows how its messages look; of any other the words are shown as they are."""

    def preview(self, message: Any) -> Looks:
        """How it would stand there. Pure; DoesNotFit is raised by none."""
        ...


class Channel(Protocol):
    """A channel, loaded on first use.

    `lane` is how its lanes are made; `account_lane`, where several lanes share an account, how that one's is:
    whatever goes through one of them counts for the account, too. `breaker`, where its service shuts out
    whoever goes on with requests that it refuses, says when it is given a rest.
    """

    key: str
    crash_policy: CrashPolicy
    lane: LaneDefaults
    account_lane: LaneDefaults | None
    breaker: Breaker | None

    def lane_account(self, core: str, options: Mapping[str, str]) -> str:
        """Which outgoing account carries a newsletter's messages to a destination, by the newsletter's
        `options`: one for all destinations, or the destination itself."""
        ...

    def shared_account(self, core: str) -> str:
        """The account that several destinations share, such as a bot; empty where each has its own."""
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

    def sessions(self, lane: LaneFacts) -> Callable[[], AsyncSession] | None:
        """A maker of asynchronous sessions, which connect lazily; None where all sessions block."""
        ...
