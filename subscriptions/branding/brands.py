"""How newsletters look and what was in them, for readers' pages. The delivery app fills both in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings

from common.pictures.codec import CleanPicture
from common.ttl_cache import TtlCache
from subscriptions.models import Picture, Subscribable

# What a form or a command may say of a picture: the name of a kept one, a new one, or none (False by forms).
PictureChoice = str | CleanPicture | bool | None


@dataclass(frozen=True, slots=True)
class Served:
    media_type: str
    data: bytes


# A name stands for the same octets for ever, so a process may keep them; a letter to many is opened by many.
_served: TtlCache[Served] = TtlCache(room=16_000_000, seconds=3600, size=lambda picture: len(picture.data))


def kept_picture(choice: PictureChoice) -> str | None:
    """Its name, once it is in the database. The caller owns the transaction."""
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
    """Its address, absolute because letters hold it; empty for none."""
    return f"{settings.SITE_URL}/pictures/{name}" if name else ""


def served_picture(name: str) -> Served:
    """What is sent to whoever asks for it. Raises LookupError."""

    def read() -> Served:
        found = Picture.objects.filter(name=name).values_list("media_type", "data").first()
        if found is None:
            raise LookupError(name)
        return Served(found[0], bytes(found[1]))

    return _served.get(name, read)


def forget_pictures() -> None:
    """For tests, whose databases do not last."""
    _served.clear()


@dataclass(frozen=True, slots=True)
class Brand:
    """`accent` is #rrggbb and readable on the page by day. Empty: the newsletter has none of its own.

    `logo_says` is the text on the logo. A logo without text is shown beside the newsletter's name.
    """

    accent: str = ""
    logo_url: str = ""
    logo_width: int = 0
    logo_says: str = ""
    header_picture_url: str = ""
    header_picture_says: str = ""


@dataclass(frozen=True, slots=True)
class Latest:
    """The newest issue, in part: `more` posts are left out, or `is_cut` within one.

    `url` is empty for a private newsletter. Other sites that link to the issue show `summary` and `picture`.
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
brand_sources: list[Callable[[Sequence[Subscribable]], Mapping[int, Brand]]] = []
latest_sources: list[Callable[[Subscribable], Latest | None]] = []


def brands(newsletters: Sequence[Subscribable]) -> dict[int, Brand]:
    """The brands by the newsletters' keys, of those that have one of their own."""
    return {key: brand for source in brand_sources for key, brand in source(newsletters).items()}


def brand_of(newsletter: Subscribable) -> Brand:
    return brands([newsletter]).get(newsletter.pk, NO_BRAND)


def latest_of(newsletter: Subscribable) -> Latest | None:
    """The newest published issue, if there is one."""
    return next((found for source in latest_sources if (found := source(newsletter))), None)
