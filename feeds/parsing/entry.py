"""The neutral entry: what a post is, whatever format it came in."""

from dataclasses import asdict, dataclass, field
from datetime import datetime
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
class Entry:
    """One post. Html is as the feed gave it until `common.html.clean` has seen it; times are aware."""

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

    @property
    def html(self) -> str:
        """The best html there is: the content, else the summary."""
        return self.content or self.summary

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dict; `from_json` is its inverse."""
        data = asdict(self)
        for key in ("published", "updated"):
            data[key] = data[key].isoformat() if data[key] else None
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Entry":
        """The entry of a `to_json` dict."""

        def moment(value: str | None) -> datetime | None:
            return datetime.fromisoformat(value) if value else None

        return cls(
            **{
                **data,
                "authors": tuple(data["authors"]),
                "categories": tuple(data["categories"]),
                "media": tuple(Media(**medium) for medium in data["media"]),
                "published": moment(data["published"]),
                "updated": moment(data["updated"]),
            }
        )


@dataclass(frozen=True, slots=True)
class ParsedFeed:
    """A document: all guids in its order (newest first as a rule), the newest entries in full."""

    title: str = ""
    link: str = ""
    language: str = ""
    guids: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()
    warnings: tuple[str, ...] = field(default=())


class ParseError(Exception):
    """The document cannot be read as a feed. The message is one sentence for an admin."""
