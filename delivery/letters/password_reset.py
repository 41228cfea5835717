"""The link by which a user chooses another password. It is made for the mail, and stored nowhere."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from channels.letter import LetterError
from subscriptions.branding.site import site_facts

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
