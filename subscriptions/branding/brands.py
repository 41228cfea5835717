"""Brands and latest issues for readers' pages, supplied by the delivery app."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings

from common.pictures.picture import CleanPicture
from common.ports.registries import brand_sources, latest_sources
from common.ttl_cache import TtlCache
from subscriptions.models import Picture, Subscribable

# Stored name, new picture, or none (forms: False).
PictureChoice = str | CleanPicture | bool | None
# Of lists and cards, for a newsletter without a colour.
USUAL_COLOUR = "#64748b"
# Types and data. Names are hashes, so entries never change.
_served: TtlCache[tuple[str, bytes]] = TtlCache(
    room=16_000_000, seconds=3600, size=lambda picture: len(picture[1])
)


def kept_picture(choice: PictureChoice) -> str | None:
    """The caller owns the transaction."""
    if isinstance(choice, CleanPicture):
        Picture.objects.get_or_create(
            name=choice.name,
            defaults={
                "media_type": choice.media_type,
                "width": choice.width,
                "height": choice.height,
                "data": choice.data,
            },
        )
        return choice.name
    return choice if isinstance(choice, str) and choice else None


def picture_url(name: str | None) -> str:
    """Return an absolute URL, as letters need, or ""."""
    return f"{settings.SITE_URL}/pictures/{name}" if name else ""


def served_picture(name: str) -> tuple[str, bytes]:
    """Return media type and data. Raises LookupError."""

    def read() -> tuple[str, bytes]:
        row = Picture.objects.filter(name=name).values_list("media_type", "data").first()
        if row is None:
            raise LookupError(name)
        return row[0], bytes(row[1])

    return _served.get(name, read)


@dataclass(frozen=True, slots=True)
class Brand:
    """`accent`: #rrggbb, readable on light pages, or empty. `logo_says`: text in the logo."""

    accent: str = ""
    logo_url: str = ""
    logo_width: int = 0
    logo_says: str = ""
    header_picture_url: str = ""
    header_picture_says: str = ""


@dataclass(frozen=True, slots=True)
class Latest:
    """Part of the newest issue. `more`: omitted posts; `is_cut`: one is incomplete.

    `url` is empty for a private newsletter. `summary` and `picture`: for link previews.
    """

    title: str
    url: str
    published: datetime
    posts: Sequence[Any]
    more: int = 0
    is_cut: bool = False
    summary: str = ""
    picture: str = ""


NO_BRAND = Brand()


def brands(newsletters: Sequence[Subscribable]) -> dict[int, Brand]:
    return {key: brand for source in brand_sources for key, brand in source(newsletters).items()}


def brand_of(newsletter: Subscribable) -> Brand:
    return brands([newsletter]).get(newsletter.pk, NO_BRAND)


def latest_of(newsletter: Subscribable) -> Latest | None:
    latest: Latest | None = next(filter(None, (source(newsletter) for source in latest_sources)), None)
    return latest
