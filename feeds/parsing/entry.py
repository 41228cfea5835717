"""The neutral entry: a post of any format."""

from dataclasses import asdict, dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any


@dataclass(frozen=True, slots=True)
class Media:
    """An enclosure or media:content. `length` in bytes or None."""

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
    """A place, in the post's words."""

    name: str = ""
    url: str = ""
    latitude: str = ""
    longitude: str = ""


@dataclass(frozen=True, slots=True)
class Citation:
    """A post that is answered, liked or reposted. `text` is plain."""

    url: str
    name: str = ""
    text: str = ""
    author: Person = Person()


@dataclass(frozen=True, slots=True)
class Social:
    """Facts for the reader only. They change no letter.

    `relations`: (microformats property, address). `start` and `end`: ISO 8601 with offset. `kind`: "event" or
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
    """One post. Html is raw until `common.html.clean.clean`; times are aware."""

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
    # iffy:hint-announce: "" (always), "never" or "piggyback".
    announce: str = ""
    # Base of relative links (xml:base or its page), or "" for its link.
    base: str = ""
    # Declared pixels, or 0.
    image_width: int = 0
    # Its pictures are shown only when opened.
    sensitive: bool = False
    # Content warning, shown instead of the text until it is opened.
    warning: str = ""
    # Common beginning and end of its feed's summaries when it was read, or ("", "").
    boilerplate: tuple[str, str] = field(default=("", ""), compare=False)
    # How much later than `published` it may be (dates.slack_of). Not stored.
    slack: timedelta = field(default=timedelta(0), compare=False)
    # Not stored: the release before would fail on it, and letters do not need it.
    social: Social = field(default=Social(), compare=False)

    @property
    def html(self) -> str:
        """Return the content, else the summary."""
        return self.content or self.summary

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict, the inverse of `from_json`."""
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
        """Return the entry of a `to_json` dict, ignoring keys of other releases."""

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
    """Facts about the feed.

    `ttl` in minutes (RSS 2.0); `skip_hours` 0–23 and `skip_days` 0 (Monday)–6 in UTC; `hubs` and `topic`
    (rel=self) for WebSub; `image`: the logo's address.
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
    """`guid` of the feed, or its substitute; `own` differs for posts that share a guid."""

    guid: str
    own: str


@dataclass(frozen=True, slots=True)
class ParsedFeed:
    """A document: all guids in order (usually newest first), the newest entries in full.

    `names` are in the same order and identify posts that share guids (`feeds.parsing.duplicate_guids`).
    """

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
    """The document is no feed. The message is a sentence for an admin."""
