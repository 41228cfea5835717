"""Brands and latest issues for readers' pages, supplied by the delivery app.

Site settings. Not cached: one small row, so all processes see a change at once.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import DatabaseError, transaction
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from common.pictures.picture import CleanPicture
from common.ports.registries import brand_sources, latest_sources
from common.text import one_line
from common.ttl_cache import TtlCache
from subscriptions.models import Picture, SiteSettings, Subscribable
from subscriptions.models.list_import import ONLY
from subscriptions.rules.site import SiteFacts, logo_size, usual_name
from subscriptions.rules.validation import check_zone

COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
SITE_FIELDS = ("name", "about", "logo", "logo_says_name", "accent", "time_zone", "imprint_url", "privacy_url")
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
        facts = {name: getattr(choice, name) for name in ("media_type", "width", "height", "data")}
        Picture.objects.get_or_create(name=choice.name, defaults=facts)
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


def site_settings() -> SiteSettings:
    """Return the row or an unsaved default. The logo's data is deferred."""
    every = SiteSettings.objects.select_related("logo").defer("logo__data")
    return every.filter(pk=ONLY).first() or SiteSettings()


def site_facts() -> SiteFacts:
    row = site_settings()
    width, height = logo_size(row.logo.width, row.logo.height) if row.logo else (0, 0)
    return SiteFacts(
        name=one_line(row.name) or usual_name(settings.SITE_HOST),
        is_named=bool(one_line(row.name)),
        url=f"{settings.SITE_URL}/",
        about=one_line(row.about),
        imprint_url=row.imprint_url,
        privacy_url=row.privacy_url,
        accent=row.accent,
        logo_url=picture_url(row.logo_id),
        logo_width=width,
        logo_height=height,
        says_name=row.logo_says_name,
    )


def admin_zone() -> ZoneInfo:
    """Return the zone for dates in the admin and in emails to its users."""
    try:
        stored = SiteSettings.objects.filter(pk=ONLY).values_list("time_zone", flat=True).first()
    except DatabaseError:
        # For the page shown while the database is down.
        stored = ""
    return ZoneInfo(stored or settings.TIME_ZONE)


def for_pages(request: HttpRequest) -> dict[str, Any]:
    """Context processor for `site`, lazy."""
    return {"site": SimpleLazyObject(_facts_or_usual)}


def _facts_or_usual() -> SiteFacts:
    try:
        return site_facts()
    except (DatabaseError, transaction.TransactionManagementError):
        # For the page shown while the database is down.
        return SiteFacts(name=usual_name(settings.SITE_HOST), url=f"{settings.SITE_URL}/")


@transaction.atomic
def alter_site(**changes: Any) -> SiteSettings:
    """Change the given fields. Raises ValidationError by field."""
    row, _ = SiteSettings.objects.select_for_update().get_or_create(pk=ONLY)
    for name, value in changes.items():
        if name not in SITE_FIELDS:
            raise TypeError(f"The site has no {name}.")
        if name == "logo":
            row.logo_id = kept_picture(value)
        else:
            setattr(row, name, one_line(value) if isinstance(value, str) else value)
    row.full_clean()
    if row.accent and not COLOUR.fullmatch(row.accent):
        raise ValidationError({"accent": "A colour is written as #1a5fb4."})
    if row.time_zone:
        try:
            check_zone(row.time_zone)
        except ValueError as error:
            raise ValidationError({"time_zone": str(error)}) from error
    for name in ("imprint_url", "privacy_url"):
        if (url := getattr(row, name)) and not url.startswith(("https://", "http://")):
            raise ValidationError({name: "An address begins with https:// or http://."})
    row.save()
    return row
