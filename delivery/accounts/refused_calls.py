"""Webhook calls with the right secret that were refused: the last one of each mail service."""

import logging
from datetime import datetime

from django.core.cache import cache

log = logging.getLogger(__name__)

REMEMBERED_SECONDS = 7 * 24 * 3600


def note_refused_call(*, esp: str, reason: str, now: datetime) -> None:
    """Log the refusal, and remember it for the account's page in the admin."""
    log.warning("a webhook call of a mail service was refused: %s", reason, extra={"esp": esp})
    cache.set(_key(esp), (now, reason), REMEMBERED_SECONDS)


def last_refused_call(esp: str) -> tuple[datetime, str] | None:
    """Return when that service's last call was refused, and why. None: not within a week."""
    known: tuple[datetime, str] | None = cache.get(_key(esp))
    return known


def _key(esp: str) -> str:
    return f"refused-webhook:{esp}"
