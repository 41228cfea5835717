"""Collecting what came back from the mailbox that BOUNCE_URL names."""

import logging
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import InterfaceError, OperationalError

from common.clock import utcnow
from delivery.bounces.account import parse_bounce_url
from delivery.bounces.sources import Incoming, Source, SourceError, opened
from delivery.services.bouncing import prune_bounces
from delivery.services.incoming import take_mail
from delivery.services.stopping import stopping

log = logging.getLogger(__name__)


def read_bounces(
    *, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None
) -> "Counter[str]":
    """A pass: forgets what is old, then takes what waits, if there is a BOUNCE_URL. Logs what is wrong."""
    prune_bounces(now=clock())
    try:
        return collect_bounces(clock=clock, budget=budget)
    except (SourceError, ImproperlyConfigured) as error:
        log.warning("%s", error)
        return Counter()


def collect_bounces(*, clock: Callable[[], datetime], budget: timedelta | None = None) -> "Counter[str]":
    """Takes what waits; how many of each kind. Raises SourceError and ImproperlyConfigured."""
    where = parse_bounce_url(settings.BOUNCE_URL)
    counts: Counter[str] = Counter()
    if where is None:
        return counts
    stop_at = time.monotonic() + budget.total_seconds() if budget else None
    with opened(where) as source:
        for mail in source.mails():
            if stopping.is_set() or (stop_at is not None and time.monotonic() > stop_at):
                break
            counts[_take(source, mail, clock())] += 1
    return counts


def _take(source: Source, mail: Incoming, now: datetime) -> str:
    """Its kind. One that cannot be taken stays in the mailbox, and stops no other."""
    try:
        kind = take_mail(raw=mail.raw, now=now).kind
    except (InterfaceError, OperationalError):
        raise
    except Exception:
        log.exception("a bounce could not be taken", extra={"mail": mail.key})
        return "failed"
    source.done(mail)
    return kind
