"""What readers' pages show of the app after this one, which fills it in: how newsletters look, what was in
them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from subscriptions.models import Subscribable


@dataclass(frozen=True, slots=True)
class Brand:
    """`accent` is #rrggbb and readable on the page by day. Empty: the newsletter has none of its own.

    `logo_says` is what stands on the logo; one that says nothing is a mark beside the name.
    """

    accent: str = ""
    logo_url: str = ""
    logo_width: int = 0
    logo_says: str = ""


@dataclass(frozen=True, slots=True)
class Latest:
    """The newest issue, in part: `more` posts are not among these, or `is_cut` within them. `url` is empty
    for a private newsletter.

    `summary` and `picture` are for what shows a link to it elsewhere.
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
    """By the newsletters' keys; those without a look of their own are left out."""
    return {key: brand for source in brand_sources for key, brand in source(newsletters).items()}


def brand_of(newsletter: Subscribable) -> Brand:
    return brands([newsletter]).get(newsletter.pk, NO_BRAND)


def latest_of(newsletter: Subscribable) -> Latest | None:
    """The newest issue that is out, if there is one."""
    return next((found for source in latest_sources if (found := source(newsletter))), None)
