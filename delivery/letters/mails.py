"""Mails that are no issue, rendered as a newsletter wants them."""

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from channels.letter import LetterError
from delivery.customisation import own_source, site_theme, theme_of
from delivery.rendering.errors import Rendered
from delivery.rendering.facts import TemplateSource
from delivery.rendering.mail import render_mail
from subscriptions.branding.site import site_facts
from subscriptions.links import page_url
from subscriptions.models import Subscribable

PASSWORD_RESET = "password_reset"  # noqa: S105 - a template's name
ADMIN, READER = "admin", "reader"
# Where the link leads, by whom the mail's context names.
PAGES = {ADMIN: "admin_password_reset_link", READER: "reader_password_reset_link"}


def reset_context(context: Mapping[str, Any]) -> dict[str, Any]:
    """What the mail is rendered from. Raises LetterError when there is no such user any more."""
    whose = next(whose for whose in PAGES if whose in context)
    users = User.objects.filter(pk=int(context[whose]), is_active=True)
    user = (users.filter(is_staff=True) if whose == ADMIN else users).first()
    if user is None:
        raise LetterError("There is no such user any more.")
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    token = default_token_generator.make_token(user)
    return {
        "newsletter": site_facts().name,
        "user_name": user.get_username(),
        "reset_url": settings.SITE_URL + reverse(PAGES[whose], args=[uid, token]),
        "minutes": str(settings.PASSWORD_RESET_TIMEOUT // 60),
        "site_url": settings.SITE_URL,
    }


log = logging.getLogger(__name__)
# Stands for the reader's key in links of a preview: they lead to a page that says that they do not work.
NOBODYS_KEY = "preview"


def newsletter_mail(
    subscribable: Subscribable | None,
    template: str,
    context: Mapping[str, Any],
    *,
    language: str,
    draft: TemplateSource | None = None,
) -> Rendered:
    """A mail in the newsletter's look, by its own template if it has one; by ours where that breaks.

    A confirmation that never comes is worse than one that looks like all others. A `draft` takes the place
    of both. Raises LetterError.
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
    """The values that such a mail is rendered from, for previews and tests: its links lead nowhere."""
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
