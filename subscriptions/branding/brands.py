"""How newsletters look and what was in them, for readers' pages. The delivery app fills both in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from subscriptions.models import Subscribable


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
