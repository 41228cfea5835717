import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any

# The most expensive document of 5 MB takes five on an ordinary machine.
PROCESSOR_SECONDS = 20.0
TOO_DEAR = (
    "Reading the feed takes more than {:g} seconds of the processor, which can be an attack. Ask its"
    " publisher for a shorter one."
)
# Seconds, the clock, and when it began.
_current: ContextVar[tuple[float, Callable[[], float], float] | None] = ContextVar("cpu_limit", default=None)


@dataclass(frozen=True, slots=True)
class Media:
    """`length` in bytes."""

    url: str
    type: str = ""
    length: int | None = None
    alt: str = ""

    @property
    def is_image(self) -> bool:
        return self.type.startswith("image")


@dataclass(frozen=True, slots=True)
class Person:
    name: str = ""
    url: str = ""
    photo: str = ""


@dataclass(frozen=True, slots=True)
class Spot:
    name: str = ""
    url: str = ""
    latitude: str = ""
    longitude: str = ""


@dataclass(frozen=True, slots=True)
class Citation:
    url: str
    name: str = ""
    text: str = ""
    author: Person = Person()


@dataclass(frozen=True, slots=True)
class Social:
    """Facts for the reader, not for letters.

    `relations`: (microformats property, address). `start`, `end`: ISO 8601 with offset. `kind`: "event" or
    "".
    """

    people: tuple[Person, ...] = ()
    kind: str = ""
    relations: tuple[tuple[str, str], ...] = ()
    refs: tuple[Citation, ...] = ()
    syndication: tuple[str, ...] = ()
    rsvp: str = ""
    start: str = ""
    end: str = ""
    place: Spot | None = None
    checkin: Spot | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """Html is raw until `common.html.clean.clean`; times are aware."""

    guid: str
    title: str = ""
    link: str = ""
    authors: tuple[str, ...] = ()
    content: str = ""
    summary: str = ""
    published: datetime | None = None
    updated: datetime | None = None
    categories: tuple[str, ...] = ()
    media: tuple[Media, ...] = ()
    language: str = ""
    image: str = ""
    # "" (always), "never" or "piggyback".
    announce: str = ""
    # Base of relative links if not `link`.
    base: str = ""
    # Pixels, or 0.
    image_width: int = 0
    # Open to show pictures.
    sensitive: bool = False
    # Shown instead of the text until opened.
    warning: str = ""
    # Common beginning and end of its feed's summaries.
    boilerplate: tuple[str, str] = field(default=("", ""), compare=False)
    # How much later than `published` it may be.
    slack: timedelta = field(default=timedelta(0), compare=False)
    # The previous release could not read it.
    social: Social = field(default=Social(), compare=False)

    @property
    def html(self) -> str:
        return self.content or self.summary

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {name: getattr(self, name) for name in _KEPT}
        data["media"] = tuple(map(asdict, self.media))
        for key in ("published", "updated"):
            data[key] = data[key].isoformat() if data[key] else None
        if not any(self.boilerplate):
            del data["boilerplate"]
        for key in ("image_width", "sensitive", "warning"):
            if not data[key]:
                del data[key]
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Entry":
        """Ignore keys of other releases."""

        def moment(value: str | None) -> datetime | None:
            return datetime.fromisoformat(value) if value else None

        known = {name: value for name, value in data.items() if name in _KEPT}
        return cls(
            **{
                **known,
                "authors": tuple(data["authors"]),
                "categories": tuple(data["categories"]),
                "media": tuple(Media(**medium) for medium in data["media"]),
                "boilerplate": tuple(data.get("boilerplate") or ("", "")),
                "published": moment(data["published"]),
                "updated": moment(data["updated"]),
            }
        )


_KEPT = tuple(one.name for one in fields(Entry) if one.name not in ("slack", "social"))


@dataclass(frozen=True, slots=True)
class Channel:
    """`ttl` in minutes; `skip_hours` and `skip_days` (0 is Monday) in UTC.

    `topic` (rel=self) and `hubs` are for WebSub; `image` is the logo.
    """

    ttl: int | None = None
    skip_hours: tuple[int, ...] = ()
    skip_days: tuple[int, ...] = ()
    hubs: tuple[str, ...] = ()
    topic: str = ""
    image: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Channel":
        listed = {name: tuple(data.get(name) or ()) for name in ("skip_hours", "skip_days", "hubs")}
        return cls(
            ttl=data.get("ttl"), topic=data.get("topic") or "", image=data.get("image") or "", **listed
        )


@dataclass(frozen=True, slots=True)
class Name:
    """`own` is unique if posts share a `guid`."""

    guid: str
    own: str


@dataclass(frozen=True, slots=True)
class ParsedFeed:
    """All guids in order, usually newest first, and the newest entries in full."""

    title: str = ""
    link: str = ""
    description: str = ""
    language: str = ""
    guids: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()
    warnings: tuple[str, ...] = field(default=())
    channel: Channel = field(default_factory=Channel)
    names: tuple[Name, ...] = ()


class ParseError(Exception):
    """The message is a sentence for an admin."""


@contextmanager
def cpu_limit(seconds: float | None = None, clock: Callable[[], float] | None = None) -> Iterator[None]:
    """Limit the CPU time of this thread."""
    clock = clock or time.thread_time
    token = _current.set((PROCESSOR_SECONDS if seconds is None else seconds, clock, clock()))
    try:
        yield
    finally:
        _current.reset(token)


def check_allowance() -> None:
    """Raise ParseError when it is used up."""
    if (limit := _current.get()) is not None:
        seconds, clock, began = limit
        if clock() - began > seconds:
            raise ParseError(TOO_DEAR.format(seconds))
