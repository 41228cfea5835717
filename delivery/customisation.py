"""Look, templates and sender of newsletters, validated on saving: only this app can."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from channels.email.address import parse_sender
from channels.letter import LetterError
from common.ports.channels import InvalidDestination
from delivery.models import LetterTemplate, Theme
from delivery.rendering.engine import check_template
from delivery.rendering.facts import (
    LETTER_WIDTH,
    LOGO_WIDTH,
    USUAL_THEME,
    TemplateSource,
    ThemeFacts,
    is_drawing,
    web_address,
)
from delivery.rendering.subjects import BadPattern, check_pattern
from subscriptions.branding.brands import kept_picture, picture_url
from subscriptions.models import Subscribable
from subscriptions.rules.site import SiteFacts

THEME_FIELDS = tuple(field.name for field in fields(ThemeFacts))
# Uploaded picture → the URL it takes precedence over.
PICTURES = {"logo_picture": "logo_url", "header_picture": "header_picture_url"}
LONGEST_THEME_TEXT = 2_000


def theme_of(subscribable: Subscribable | None) -> ThemeFacts:
    row = Theme.objects.filter(subscribable=subscribable).first() if subscribable else None
    return theme_facts(row) if row else USUAL_THEME


def theme_facts(theme: Theme) -> ThemeFacts:
    values = {name: getattr(theme, name) for name in THEME_FIELDS}
    for picture, address in PICTURES.items():
        values[address] = picture_url(getattr(theme, f"{picture}_id")) or values[address]
    return ThemeFacts(**values)


def site_theme(site: SiteFacts) -> ThemeFacts:
    """Return the theme of mails of no newsletter, such as the sign-in link."""
    return ThemeFacts(
        accent=site.accent,
        logo_url=site.logo_url,
        logo_alt=site.name if site.says_name else "",
        logo_width=site.logo_width or LOGO_WIDTH,
    )


@transaction.atomic
def set_theme(*, subscribable: Subscribable, **changes: Any) -> Theme:
    """Change the given fields. Raises ValidationError without changing anything."""
    theme, _ = Theme.objects.get_or_create(subscribable=subscribable)
    for name, value in changes.items():
        if name in PICTURES:
            setattr(theme, f"{name}_id", kept_picture(value))
        else:
            setattr(theme, name, value)
    check_theme(theme)
    theme.save()
    return theme


@transaction.atomic
def back_to_usual(*, subscribables: list[int]) -> int:
    """Delete newsletters' themes. Return how many had one."""
    _, deleted = Theme.objects.filter(subscribable__in=subscribables).delete()
    return deleted.get(Theme._meta.label, 0)


def check_theme(theme: Theme) -> None:
    """Raise ValidationError, by field, for what no letter could show."""
    theme.full_clean()
    wrong: dict[str, str] = {}
    for name in PICTURES.values():
        if (url := getattr(theme, name)) and not web_address(url):
            wrong[name] = "A picture’s URL begins with https:// or http://."
        elif is_drawing(url):
            wrong[name] = "Most mail programs don’t show SVG. Use a PNG or JPEG."
    if not 1 <= theme.logo_width <= LETTER_WIDTH:
        wrong["logo_width"] = f"A logo can be 1 to {LETTER_WIDTH} pixels wide."
    for name in ("header", "footer", "postal_address"):
        if len(getattr(theme, name)) > LONGEST_THEME_TEXT:
            wrong[name] = f"At most {LONGEST_THEME_TEXT:,} characters."
    try:
        check_pattern(theme.subject)
    except BadPattern as error:
        wrong["subject"] = str(error)
    if wrong:
        raise ValidationError(wrong)


def current(subscribable: Subscribable, name: str) -> LetterTemplate | None:
    """Return the custom template's current version, if any."""
    return LetterTemplate.objects.filter(subscribable=subscribable, name=name, is_current=True).first()


def own_source(subscribable: Subscribable, name: str) -> TemplateSource | None:
    """Return the custom template, or None for our file."""
    row = current(subscribable, name)
    return source_of(row) if row else None


def own_issue_sources(newsletter_ids: Iterable[int]) -> dict[int, dict[str, TemplateSource]]:
    """Return custom templates of letters by newsletter. Rendering chooses among them."""
    sources: dict[int, dict[str, TemplateSource]] = defaultdict(dict)
    rows = LetterTemplate.objects.filter(is_current=True, name__startswith="issues/")
    for row in rows.filter(subscribable__in=newsletter_ids):
        sources[row.subscribable_id][row.name] = source_of(row)
    return sources


def themes_of(newsletter_ids: Iterable[int]) -> dict[int, ThemeFacts]:
    rows = Theme.objects.filter(subscribable__in=newsletter_ids)
    return {row.subscribable_id: theme_facts(row) for row in rows}


def source_of(row: LetterTemplate) -> TemplateSource:
    return TemplateSource(html=row.html, text=row.text, subject=row.subject)


def refuse_wrong_template(subscribable: Subscribable) -> None:
    """Raise ValidationError for a missing template or one with unknown fields."""
    if not subscribable.template:
        return
    try:
        check_template(subscribable.template, subscribable.params)
    except LetterError as error:
        raise ValidationError({"template": str(error)}) from error


def refuse_wrong_sender(subscribable: Subscribable) -> None:
    """Raise ValidationError for an invalid From or Reply-To. They may be empty."""
    wrong = {}
    for field in ("from_email", "reply_to"):
        try:
            if text := getattr(subscribable, field):
                parse_sender(text)
        except InvalidDestination as error:
            wrong[field] = str(error)
    if wrong:
        raise ValidationError(wrong)
