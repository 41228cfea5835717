"""Checks of combinations of settings; env.py checks each alone."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Warning, register

from common.checks import OWN_CHECKS
from common.net.addresses import NEAR, is_within

SHORTEST_SECRET = 50
THIS_MACHINE = {"127.0.0.1", "localhost", "::1"}


@register(OWN_CHECKS)
def settings_fit_together(app_configs: Sequence[Any] | None, **_: Any) -> list[CheckMessage]:
    """SILENCED_SYSTEM_CHECKS silences the ids."""
    allowed = settings.ALLOW_PRIVATE_NETWORKS
    is_private = "." not in settings.SITE_HOST or is_within(settings.SITE_HOST, NEAR)
    opens_loopback = is_within("127.0.0.1", allowed) or is_within("::1", allowed)
    backups = Path(settings.BACKUP_DIR)
    nearest = next(each for each in (backups, *backups.parents) if os.path.lexists(each))
    problems = (
        (
            "W001",
            not settings.EMBEDDED and "sqlite" in settings.DATABASES["default"]["ENGINE"],
            "CELERY_BROKER_URL is set, but the database is SQLite, which only this machine can share.",
            "DATABASE_URL=postgres://user:password@host/name",
        ),
        (
            "W003",
            settings.SITE_HOST in THIS_MACHINE and not settings.EMAIL_URL.startswith("mailbox:"),
            f"Emails are sent, but their links lead to {settings.SITE_URL}, which subscribers can’t open.",
            "Set SITE_URL to the address that subscribers use, such as https://letters.example.org",
        ),
        (
            "W004",
            len(settings.SECRET_KEY) < SHORTEST_SECRET,
            f"SECRET_KEY has fewer than {SHORTEST_SECRET} characters, so sessions and tokens can be forged.",
            'python3 -c "import secrets; print(secrets.token_urlsafe(50))"',
        ),
        (
            "W007",
            settings.SITE_URL.startswith("https:") and not settings.TRUSTED_PROXIES,
            "TRUSTED_PROXIES is empty, but SITE_URL is https: visitors share the proxy’s limit of sign-ups.",
            "Set TRUSTED_PROXIES to the address that the proxy’s requests come from, such as 127.0.0.1",
        ),
        (
            "W008",
            opens_loopback and not is_private,
            "ALLOW_PRIVATE_NETWORKS has this machine, so people who add feeds can read services on it.",
            "Remove it. It is for trying Feedletter on one machine",
        ),
        (
            "W009",
            settings.OIDC_URL and not settings.OIDC_CLIENT_ID,
            "OIDC_URL is set, but OIDC_CLIENT_ID is empty, so nobody can sign in with OpenID Connect.",
            "Set OIDC_CLIENT_ID and OIDC_CLIENT_SECRET to the client that you registered at the provider",
        ),
        (
            "W010",
            settings.BACKUP_DIR and not (nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)),
            f"BACKUP_DIR is {backups}, where no backup can be written.",
            "Name a folder that the service may make or write to",
        ),
    )
    return [
        Warning(message, hint=hint, id=f"feedletter.{number}")
        for number, is_wrong, message, hint in problems
        if is_wrong
    ]
