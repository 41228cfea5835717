"""Mails other than issues, in a newsletter's look."""

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.urls import reverse
from django.utils.http import int_to_base36

from channels.letter import LetterError
from delivery.customisation import own_source, site_theme, theme_of
from delivery.rendering.errors import Rendered
from delivery.rendering.facts import TemplateSource
from delivery.rendering.mail import render_mail
from subscriptions.branding.site import site_facts
from subscriptions.links import page_url
from subscriptions.models import Subscribable

PASSWORD_RESET = "password_reset"  # noqa: S105 - a template's name


def reset_context(context: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mail's values. Raises LetterError if the user no longer exists."""
    pks = [int(context["user"]), *map(int, str(context.get("others", "")).split())]
    users = User.objects.filter(is_active=True).in_bulk(pks)
    links = [[users[pk].get_username(), _reset_url(users[pk])] for pk in pks if pk in users]
    if not links:
        raise LetterError("There is no such user any more.")
    return {
        "newsletter": site_facts().name,
        "user_name": links[0][0],
        "reset_url": links[0][1],
        "others": links[1:],
        "minutes": str(settings.PASSWORD_RESET_TIMEOUT // 60),
        "site_url": settings.SITE_URL,
    }


def _reset_url(user: User) -> str:
    token = default_token_generator.make_token(user)
    path = reverse("account_reset_password_from_key", args=[int_to_base36(user.pk), token])
    return settings.SITE_URL + path


log = logging.getLogger(__name__)
# Key in a preview's links, which lead to a page that says that they don't work.
NOBODYS_KEY = "preview"


def newsletter_mail(
    subscribable: Subscribable | None,
    template: str,
    context: Mapping[str, Any],
    *,
    language: str,
    draft: TemplateSource | None = None,
) -> Rendered:
    """Render a mail with the newsletter's look and template, or with ours if that fails.

    A missing confirmation is worse than a plain one. A `draft` replaces both. Raises LetterError.
    """
    site = site_facts()
    facts: dict[str, Any] = {"language": language, "site": site}
    if subscribable is None:
        return render_mail(template, context, theme=site_theme(site), **facts)
    facts |= {"params": subscribable.params, "theme": theme_of(subscribable)}
    if draft is not None:
        return render_mail(template, context, own=draft, **facts)
    own = own_source(subscribable, f"mails/{template}")
    if own is None:
        return render_mail(template, context, **facts)
    try:
        return render_mail(template, context, own=own, **facts)
    except LetterError as error:
        log.warning("%s of %s: the default is used", template, subscribable.name, exc_info=error)
        return render_mail(template, context, **facts)


def mail_context(subscribable: Subscribable, template: str, *, now: datetime) -> dict[str, Any]:
    """Return sample values, with dead links, for previews and tests."""
    site = settings.SITE_URL
    context: dict[str, Any] = {
        "newsletter": str(subscribable),
        "page_url": page_url(subscribable),
        "site_url": site,
    }
    if template == "confirmation":
        return {
            **context,
            "confirm_url": f"{site}/confirm/{NOBODYS_KEY}/",
            "hours": str(settings.CONFIRM_HOURS),
        }
    return context
