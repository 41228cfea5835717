"""The link by which an admin chooses another password. It is made for the mail, and stored nowhere."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from delivery.rendering.errors import LetterError
from subscriptions.branding.site import site_facts

PASSWORD_RESET = "password_reset"  # noqa: S105 - a template's name


def reset_context(context: Mapping[str, Any]) -> dict[str, Any]:
    """What the mail is rendered from. Raises LetterError when there is no such admin any more."""
    user = User.objects.filter(pk=int(context["admin"]), is_active=True, is_staff=True).first()
    if user is None:
        raise LetterError("There is no such admin any more.")
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    token = default_token_generator.make_token(user)
    return {
        "newsletter": site_facts().name,
        "user_name": user.get_username(),
        "reset_url": f"{settings.SITE_URL}/admin/password-reset/{uid}/{token}/",
        "minutes": str(settings.PASSWORD_RESET_TIMEOUT // 60),
        "site_url": settings.SITE_URL,
    }
