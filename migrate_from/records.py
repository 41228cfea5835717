"""Records that the converters read from files of other programs, and lines of reports. Pure."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time
from enum import StrEnum
from typing import Any

from common.refused import Refused

EACH, FIXED, EMAIL = "each", "every_n", "email"
QUEUED = "queued message"


def text_at(values: Mapping[str, Any], name: str) -> str:
    """Return "" unless it is a text."""
    value = values.get(name)
    return value if isinstance(value, str) else ""


class ImportResult(StrEnum):
    TAKEN = "taken"
    CHANGED = "changed"
    REFUSED = "not taken"
    GONE = "gone there"
    THERE = "there already"
    NEW = "new"
    ASKS = "asks first"
    UNREAD = "not read"


@dataclass(frozen=True, slots=True)
class Line:
    """`kind` and `name` are the other program's; `count` things are summarized."""

    fate: ImportResult
    kind: str
    name: str
    words: str = ""
    count: int = 1

    def row(self) -> dict[str, str]:
        return {"what": self.fate.value, "kind": self.kind, "name": self.name, "words": self.words}


@dataclass(frozen=True, slots=True)
class Question:
    """Question about a file, for one of its Options. Choices: values and labels."""

    option: str
    label: str
    choices: Sequence[tuple[str, str]]


class Undecided(Refused):
    """Nothing can be taken before these questions are answered."""

    def __init__(self, message: str, questions: Sequence[Question]) -> None:
        super().__init__(message)
        self.questions = questions


@dataclass(frozen=True, slots=True)
class Options:
    """`zone` is the other machine's. `secrets` are the other program's, by their names there.

    `reader` is the slug of the reader to import for, `user` the person's id there. `orphans`: take what is
    nobody's, too.
    """

    zone: str = ""
    sends_stale: bool = False
    keeps_queued: bool = False
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    reader: str = ""
    user: str = ""
    orphans: bool = False


class Fate(StrEnum):
    """Of a post there. `KNOWN`: passed over. `WAITING`: in an open issue."""

    SENT = "sent"
    KNOWN = "known"
    WAITING = "waiting"
    UNSENT = "unsent"


@dataclass(frozen=True, slots=True)
class OldPost:
    """`guid` in the other program; `at`: when it was sent or first seen there.

    `document`: RSS of an unsent one alone. `reason`: why it isn’t sent.
    """

    guid: str
    at: datetime
    fate: Fate
    link: str = ""
    document: str = ""
    stable_since: datetime | None = None
    reason: str = ""

    @property
    def was_sent(self) -> bool:
        return self.fate == Fate.SENT


@dataclass(frozen=True, slots=True)
class OldSubscriber:
    """`number`: 0 if it has none there. `is_unasked`: its confirmation waits in a queue."""

    address: str
    added: datetime
    name: str = ""
    number: int = 0
    is_confirmed: bool = True
    is_unasked: bool = False


@dataclass(frozen=True, slots=True)
class OldAccount:
    """Account of a bridge.

    `old_name`: its name there, and its server. `fields` are the channel's; `token` is the value of the secret
    one, or "" if unknown.
    """

    number: int
    old_name: tuple[str, str]
    fields: tuple[tuple[str, str], ...]
    token_field: str
    token: str = field(repr=False)
    added: datetime


@dataclass(frozen=True, slots=True)
class OldCollection:
    """`number` counts collections of a fixed number of posts."""

    opened: datetime
    guids: tuple[str, ...]
    is_stale: bool
    number: int = 0


def hashed(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:40]


@dataclass(frozen=True, slots=True)
class OldEmail:
    """Queued email of a subscription. `is_tried`: it may have been sent (BUG-5)."""

    number: int
    subject: str
    template: str
    values: Mapping[str, str]
    is_tried: bool


@dataclass(frozen=True, slots=True)
class OldStatus:
    """Queued post of a bridge’s account. `pictures`: address, type and description."""

    key: str
    account: int
    text: str
    pictures: tuple[tuple[str, str, str], ...]
    is_tried: bool


@dataclass(frozen=True, slots=True)
class OldNewsletter:
    """`sender` is a mailbox, or the address alone if the title is its name. `is_private`: of one person.

    `counter`: number of the next collection of a fixed number of posts. `keeps_subjects`: readers’ filters
    know them.
    """

    name: str
    arrangement: str = EACH
    zone: str = ""
    sender: str = ""
    reply_to: str = ""
    params: Mapping[str, str] = field(default_factory=dict)
    channel: str = EMAIL
    n: int | None = None
    weekday: int = 0
    at: time | None = None
    counter: int = 1
    is_private: bool = False
    keeps_subjects: bool = False
    subscribers: tuple[OldSubscriber, ...] = ()
    accounts: tuple[OldAccount, ...] = ()
    collections: tuple[OldCollection, ...] = ()
    emails: tuple[OldEmail, ...] = ()
    statuses: tuple[OldStatus, ...] = ()

    @property
    def is_bridge(self) -> bool:
        return self.channel != EMAIL


@dataclass(frozen=True, slots=True)
class OldFeed:
    """Feed with its posts and newsletters, which one transaction takes.

    `read_until`: None if it was never read; `read_from`: None if it begins now. `knows_all`: `posts` are all
    that it ever had, under their ids here. `recognise` returns the ids of known posts in a document (octets,
    content type, URL), or None if it can’t compare any, as it must if the feed `has_hashes`.
    """

    key: str
    name: str
    url: str
    read_from: datetime | None
    read_until: datetime | None
    posts: tuple[OldPost, ...] = ()
    newsletters: tuple[OldNewsletter, ...] = ()
    timings: Mapping[str, int] = field(default_factory=dict)
    is_active: bool = True
    knows_all: bool = False
    has_hashes: bool = False
    recognise: Callable[[bytes, str, str], Sequence[str] | None] | None = None
    # Told when it is added.
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class OldServerFeed:
    """Feed of a channel in a Discord server. `polled_at` is None if it was never read."""

    number: int
    url: str
    title: str
    guild_id: int
    channel_id: int
    added_by: int
    created_at: datetime
    polled_at: datetime | None
    posts: tuple[OldPost, ...] = ()

    @property
    def label(self) -> str:
        return f"server {self.guild_id}, feed {self.number}: {self.title}"


@dataclass(frozen=True, slots=True)
class OldChannel:
    """Of a reader; `owner` is "" for nobody. It hides by `kinds` and `pattern`; `lost` has no equivalent."""

    key: str
    uid: str
    name: str
    order: float
    owner: str
    kinds: tuple[str, ...] = ()
    pattern: str = ""
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OldFollow:
    """Feed in a channel. `trouble`: why it couldn’t be read there."""

    key: str
    channel: str
    url: str
    title: str
    site_url: str
    trouble: str


@dataclass(frozen=True, slots=True)
class OldEntry:
    """Post that somebody has or had read: `jf2` (https://jf2.spec.indieweb.org), not sanitized.

    `guid` is the feed’s id of it, or ""; `digest` is known besides. `is_stripped`: its text is gone.
    """

    jf2: Mapping[str, Any] = field(repr=False)
    guid: str
    digest: str
    feed_url: str
    published: datetime | None
    came_at: datetime | None
    read_by: frozenset[str]
    is_stripped: bool


@dataclass(frozen=True, slots=True)
class OldMention:
    """Notification of `source` about `target`. Without an owner it is everybody’s."""

    owner: str
    source: str
    target: str
    kind: str
    entry: OldEntry


@dataclass(frozen=True, slots=True)
class OldMute:
    """Author whose posts are hidden, in one channel or in all. Without an owner it is everybody’s."""

    owner: str
    is_block: bool
    channel: str
    url: str


@dataclass(frozen=True, slots=True)
class Contents:
    """`refused` cannot be taken; `notes` are about everything; `environment` has settings for this site.

    `numbers`: of all subscriptions; `sessions` of others use the database.
    """

    feeds: Sequence[OldFeed]
    refused: Sequence[Line] = ()
    notes: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    numbers: frozenset[int] = frozenset()
    sessions: int = 0
