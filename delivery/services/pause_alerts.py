"""Mails to the admins about domains and newsletters that were paused because servers refuse our letters."""

import hashlib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.urls import reverse

from common.admin_html import object_url
from common.text import counted, one_line, shortened
from delivery.models import Delivery, LaneDomain
from delivery.services import alerting
from delivery.services.alert_words import LISTED, LONGEST_TITLE, Alert
from delivery.services.refusals import BY_ITSELF, why
from feeds.rules.alerts import may_tell
from subscriptions.models import Subscribable

log = logging.getLogger(__name__)

KEY = "pauses"
# In a mail's context: which pauses it tells of.
TOLD = "told"
STAMP = "%Y%m%dT%H%M%S%f"
WAITS = "What was to go there waits. When you have looked into it, resume it on this page."


@dataclass(frozen=True, slots=True)
class Pause:
    """Something that waits for a person. `key` is the same for one pause, and another for the next."""

    key: str
    what: str
    why: str
    page: str
    is_domain: bool


def tell_of_pauses(*, now: datetime) -> int:
    """Queues a mail to each admin of the pauses that none of them has heard of. Returns how many.

    One mail in three hours at the most; what is paused meanwhile goes together in the next.
    """
    paused = [*_domains(), *_newsletters()]
    if not paused:
        return 0
    told, last_told = _told()
    news = [pause for pause in paused if pause.key not in told]
    if not news or not may_tell(last_told, now):
        return 0
    return _tell(news, now)


def _tell(news: Sequence[Pause], now: datetime) -> int:
    admins = alerting.recipients(now)
    if not admins:
        log.info("something was paused, and no admin has an e-mail address to be told at")
        return 0
    keys = sorted(pause.key for pause in news)
    key = f"{KEY}:{hashlib.sha256(' '.join(keys).encode()).hexdigest()[:40]}"
    said = words(news)
    rows = [
        alerting.delivery(said, f"{key}:{user}", address, now, {TOLD: keys})
        for user, address in admins.items()
    ]
    with transaction.atomic():
        Delivery.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


def _told() -> tuple[set[str], datetime | None]:
    """The pauses that mails have told of, and when the last of those mails was made."""
    rows = Delivery.objects.filter(kind=Delivery.Kind.ALERT, issue=None, key__startswith=f"{KEY}:")
    mails = list(rows.order_by().values_list("context", "created_at"))
    told = {key for context, _ in mails for key in context.get(TOLD, ())}
    return told, max((made for _, made in mails), default=None)


def _domains() -> Iterator[Pause]:
    rows = LaneDomain.objects.filter(paused=True, paused_reason__startswith=BY_ITSELF)
    for row in rows.select_related("lane"):
        sign = hashlib.sha256(row.paused_reason.encode()).hexdigest()[:16]
        yield Pause(
            key=f"domain:{row.pk}:{sign}",
            what=f"Letters to {row.domain} are paused",
            why=why(row.paused_reason),
            page=object_url(row.lane),
            is_domain=True,
        )


def _newsletters() -> Iterator[Pause]:
    rows = Subscribable.objects.filter(sending_paused_reason__startswith=BY_ITSELF)
    for row in rows.filter(sending_paused_at__isnull=False):
        yield Pause(
            key=f"newsletter:{row.pk}:{row.sending_paused_at:{STAMP}}",
            what=f"“{shortened(one_line(str(row)), LONGEST_TITLE)}” is paused",
            why=why(row.sending_paused_reason),
            page=object_url(row),
            is_domain=False,
        )


def words(news: Sequence[Pause]) -> Alert:
    """One mail about all of them."""
    if len(news) == 1:
        pause = news[0]
        return Alert(
            subject=pause.what, sentences=(f"{pause.what}: {pause.why}",), closing=(WAITS,), page=pause.page
        )
    domains = sum(pause.is_domain for pause in news)
    counts = (counted(domains, "domain"), counted(len(news) - domains, "newsletter"))
    shown = " and ".join(count for count in counts if not count.startswith("0 "))
    lines = [f"{pause.what}: {pause.why}" for pause in news]
    more = [f"and {len(lines) - LISTED:,} more"] if len(lines) > LISTED else []
    return Alert(
        subject=f"{shown} are paused",
        sentences=("Servers refuse so many of your letters that these wait for you:",),
        lines=tuple(lines[:LISTED] + more),
        page=reverse("admin:index"),
    )
