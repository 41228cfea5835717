"""The neutral entry: what a post is, whatever format it came in."""

from dataclasses import asdict, dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any


@dataclass(frozen=True, slots=True)
class Media:
    """An enclosure or media:content. `length` in bytes, None when the feed does not say."""

    url: str
    type: str = ""
    length: int | None = None
    alt: str = ""

    @property
    def is_image(self) -> bool:
        return self.type.startswith("image")


@dataclass(frozen=True, slots=True)
class Person:
    """An author with what leads to them; each may be ""."""

    name: str = ""
    url: str = ""
    photo: str = ""


@dataclass(frozen=True, slots=True)
class Spot:
    """Somewhere on earth, in the post's own words."""

    name: str = ""
    url: str = ""
    latitude: str = ""
    longitude: str = ""


@dataclass(frozen=True, slots=True)
class Citation:
    """What a post says of another one that it answers, likes or repeats. `text` is plain."""

    url: str
    name: str = ""
    text: str = ""
    author: Person = Person()


@dataclass(frozen=True, slots=True)
class Social:
    """What only people who read posts here see of one: nothing in it makes a letter differ.

    `relations` are (microformats property, address), such as ("in-reply-to", "https://…"). `start` and `end`
    are ISO 8601 with offset. `kind` is "event" for one of these, else "".
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
    """One post. Html is as the feed gave it until `common.html.clean.clean` has seen it; times are aware."""

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
    # What its relative links are relative to (xml:base, or the page it stands on); "" for its link.
    base: str = ""
    # As the feed declares it, in pixels; 0 where it does not.
    image_width: int = 0
    # Its pictures are not for everybody: they are shown only to those who open them.
    sensitive: bool = False
    # A warning of what its text says, which stands for the text until somebody opens it.
    warning: str = ""
    # What nearly all summaries of its feed began and ended with when it was read; ("", "") for nothing.
    boilerplate: tuple[str, str] = field(default=("", ""), compare=False)
    # How much later than `published` it may have come out (see dates.slack_of). Not kept.
    slack: timedelta = field(default=timedelta(0), compare=False)
    # Not kept either: a worker of the release before would stumble over it, and letters have no use for it.
    social: Social = field(default=Social(), compare=False)

    @property
    def html(self) -> str:
        """The best html there is: the content, else the summary."""
        return self.content or self.summary

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dict; `from_json` is its inverse."""
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
        """The entry of a `to_json` dict; what another release put there besides is passed over."""

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
    """What a document says of itself beyond its posts.

    `ttl` in minutes (RSS 2.0); `skip_hours` 0-23 and `skip_days` 0 (Monday)-6, both UTC; `hubs` and
    `topic` (its rel=self) as WebSub means them; `image` the address of its logo.
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
        """The channel of a `to_json` dict; of {}, one that says nothing."""
        listed = {name: tuple(data.get(name) or ()) for name in ("skip_hours", "skip_days", "hubs")}
        return cls(
            ttl=data.get("ttl"), topic=data.get("topic") or "", image=data.get("image") or "", **listed
        )


@dataclass(frozen=True, slots=True)
class Name:
    """`guid` as the feed gives it (or what stands for it); `own` names a post that shares it with others."""

    guid: str
    own: str


@dataclass(frozen=True, slots=True)
class ParsedFeed:
    """A document: all guids in its order (newest first as a rule), the newest entries in full.

    `names` stand in the same order, and say which guids are shared (see `feeds.parsing.namesakes`).
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
    """The document cannot be read as a feed. The message is one sentence for an admin."""
