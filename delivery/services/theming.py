"""A newsletter's look: what its admin chose, checked when saved."""

from dataclasses import fields
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from delivery.models import Theme
from delivery.rendering.addresses import web_address
from delivery.rendering.subjects import BadPattern, check_pattern
from delivery.rendering.themes import USUAL, ThemeFacts
from subscriptions.models import Subscribable

FIELDS = tuple(field.name for field in fields(ThemeFacts))
MOST_CHARACTERS = 2_000
WIDEST_LOGO = 552


def theme_of(subscribable: Subscribable | None) -> ThemeFacts:
    """The look as rendering takes it; the usual one where none was chosen."""
    row = Theme.objects.filter(subscribable=subscribable).first() if subscribable else None
    return facts_of(row) if row else USUAL


def facts_of(theme: Theme) -> ThemeFacts:
    """A theme's row, copied out of the database."""
    return ThemeFacts(**{name: getattr(theme, name) for name in FIELDS})


@transaction.atomic
def set_theme(*, subscribable: Subscribable, **changes: Any) -> Theme:
    """Changes the look; what is not given stays. Raises ValidationError, and then changes nothing."""
    theme, _ = Theme.objects.get_or_create(subscribable=subscribable)
    for name, value in changes.items():
        setattr(theme, name, value)
    check_theme(theme)
    theme.save()
    return theme


@transaction.atomic
def back_to_usual(*, subscribables: list[int]) -> int:
    """Forgets the looks of these newsletters. Returns how many had one."""
    _, deleted = Theme.objects.filter(subscribable__in=subscribables).delete()
    return deleted.get(Theme._meta.label, 0)


def check_theme(theme: Theme) -> None:
    """Raises ValidationError, by field, for what no letter could show."""
    theme.full_clean()
    wrong: dict[str, str] = {}
    if theme.logo_url and not web_address(theme.logo_url):
        wrong["logo_url"] = "A logo's address begins with https:// or http://."
    if not 1 <= theme.logo_width <= WIDEST_LOGO:
        wrong["logo_width"] = f"A letter has room for a logo of 1 to {WIDEST_LOGO} pixels."
    for name in ("header", "footer", "postal_address"):
        if len(getattr(theme, name)) > MOST_CHARACTERS:
            wrong[name] = f"At most {MOST_CHARACTERS:,} characters: it stands in every letter."
    try:
        check_pattern(theme.subject)
    except BadPattern as error:
        wrong["subject"] = str(error)
    if wrong:
        raise ValidationError(wrong)
