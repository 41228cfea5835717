"""Checks of combinations of settings; env.py checks each alone."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Warning, register

from common.checks import OWN_CHECKS
from common.net.addresses import NEAR, is_within

SHORTEST_SECRET = 50
THIS_MACHINE = {"127.0.0.1", "localhost", "::1"}


def register_checks() -> None:
    register(settings_fit_together, OWN_CHECKS)


def settings_fit_together(app_configs: Sequence[Any] | None, **_: Any) -> list[CheckMessage]:
    """SILENCED_SYSTEM_CHECKS silences the ids."""
    return [*shared_database(), *reachable_links(), *long_secret(), *declared_proxy(), *closed_loopback()]


def mail_is_kept_here() -> bool:
    return settings.EMAIL_URL.startswith("mailbox:")


def shared_database() -> list[CheckMessage]:
    if settings.EMBEDDED or "sqlite" not in settings.DATABASES["default"]["ENGINE"]:
        return []
    return warning(
        "W001",
        "CELERY_BROKER_URL is set, but the database is SQLite, which only this machine can share.",
        "DATABASE_URL=postgres://user:password@host/name",
    )


def reachable_links() -> list[CheckMessage]:
    if mail_is_kept_here() or settings.SITE_HOST not in THIS_MACHINE:
        return []
    return warning(
        "W003",
        f"Emails are sent, but their links lead to {settings.SITE_URL}, which subscribers can’t open.",
        "Set SITE_URL to the address that subscribers use, such as https://letters.example.org",
    )


def long_secret() -> list[CheckMessage]:
    if len(settings.SECRET_KEY) >= SHORTEST_SECRET:
        return []
    return warning(
        "W004",
        f"SECRET_KEY has fewer than {SHORTEST_SECRET} characters, so sessions and tokens could be forged.",
        'python3 -c "import secrets; print(secrets.token_urlsafe(50))"',
    )


def declared_proxy() -> list[CheckMessage]:
    if settings.TRUSTED_PROXIES or not settings.SITE_URL.startswith("https:"):
        return []
    return warning(
        "W007",
        "TRUSTED_PROXIES is empty, but SITE_URL is https, so visitors share the proxy’s limit of sign-ups.",
        "Set TRUSTED_PROXIES to the address that the proxy’s requests come from, such as 127.0.0.1",
    )


def closed_loopback() -> list[CheckMessage]:
    is_private = "." not in settings.SITE_HOST or is_within(settings.SITE_HOST, NEAR)
    allowed = settings.ALLOW_PRIVATE_NETWORKS
    if is_private or not (is_within("127.0.0.1", allowed) or is_within("::1", allowed)):
        return []
    return warning(
        "W008",
        "ALLOW_PRIVATE_NETWORKS has this machine, so people who add feeds can read services that run on it.",
        "Remove it. It is for trying Feedletter on one machine",
    )


def warning(number: str, message: str, hint: str) -> list[CheckMessage]:
    return [Warning(message, hint=hint, id=f"feedletter.{number}")]
