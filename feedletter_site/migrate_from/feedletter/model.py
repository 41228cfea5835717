"""Meaning of feedletter's rows here. Pure."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, time
from typing import NamedTuple

from feedletter_site.migrate_from.source import Line
from subscriptions.rules.schedule import Schedule

EACH, FIXED, EMAIL = "each", "every_n", "email"


@dataclass(frozen=True, slots=True)
class OldItem:
    guid: str
    state: str
    link: str
    document: str
    first_seen: datetime
    stable_since: datetime


@dataclass(frozen=True, slots=True)
class OldSubscription:
    """`number`: as in subscriptions.rules.invitations.number_here."""

    number: int
    address: str
    name: str
    is_confirmed: bool
    added: datetime
    # Its confirmation waits in a queue.
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


@dataclass(frozen=True, slots=True)
class OldLetter:
    """Queued email, with fields that are also ours.

    `tried`: numbers of subscriptions for which it was tried before, perhaps with success (BUG-5).
    """

    key: str
    subject: str
    html: str
    numbers: frozenset[int]
    tried: frozenset[int]


@dataclass(frozen=True, slots=True)
class OldPicture:
    url: str
    type: str
    alt: str


@dataclass(frozen=True, slots=True)
class OldPost:
    """Queued post of a bridge."""

    key: str
    account: int
    text: str
    pictures: tuple[OldPicture, ...]
    is_tried: bool


@dataclass(frozen=True, slots=True)
class OldNewsletter:
    name: str
    arrangement: str
    zone: str
    sender: str
    reply_to: str
    params: Mapping[str, str]
    channel: str = EMAIL
    n: int | None = None
    weekday: int = 0
    # Number of the next collection of a fixed number of posts.
    counter: int = 1
    subscriptions: tuple[OldSubscription, ...] = ()
    accounts: tuple[OldAccount, ...] = ()
    collections: tuple[OldCollection, ...] = ()
    letters: tuple[OldLetter, ...] = ()
    posts: tuple[OldPost, ...] = ()

    @property
    def is_bridge(self) -> bool:
        return self.channel != EMAIL

    @property
    def schedule(self) -> Schedule:
        return Schedule(self.arrangement, time(0), self.weekday, 1, "")


def feed_key(number: str, url: str) -> str:
    return f"{number}-{hashlib.sha256(url.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


@dataclass(frozen=True, slots=True)
class OldFeed:
    number: str
    url: str
    timings: Mapping[str, int]
    added: datetime
    read_until: datetime
    items: tuple[OldItem, ...]
    newsletters: tuple[OldNewsletter, ...]
    lines: tuple[Line, ...] = ()

    @property
    def key(self) -> str:
        """Identify it among feeds of several databases, whatever their time zone is said to be."""
        return feed_key(self.number, self.url)

    @property
    def waiting(self) -> frozenset[str]:
        """Guids in collections that are to be sent."""
        return frozenset(self._guids(is_stale=False))

    @property
    def stale(self) -> frozenset[str]:
        return frozenset(self._guids(is_stale=True)) - self.waiting

    def _guids(self, *, is_stale: bool) -> Iterator[str]:
        for newsletter in self.newsletters:
            for collection in newsletter.collections:
                if collection.is_stale == is_stale:
                    yield from collection.guids


class Interpretation(NamedTuple):
    feeds: list[OldFeed]
    refused: list[Line]
    notes: list[str]
    environment: Mapping[str, str]
