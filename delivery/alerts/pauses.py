"""Mails to admins about what waits because servers refuse letters."""

import hashlib
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.urls import reverse

from channels.rules.meaning import advice
from channels.rules.server_words import meaning
from common.admin.html import list_url, object_url
from common.text import one_line, pluralize, shortened
from delivery.alerts.messages import LONGEST_ALERT_TITLE, Alert, alert_recipients, list_lines, queue_alert
from delivery.bounces.domain_refusals import BY_ITSELF, pause_cause
from delivery.lanes.breakers import trouble_in_words, troubles
from delivery.models import Delivery, Issue, Lane, LaneDomain
from feeds.rules.alerts import may_tell
from subscriptions.models import Subscribable, Subscription

log = logging.getLogger(__name__)

PAUSES_KEY = "pauses"
# Reported pauses, in a mail's context.
TOLD = "told"
PAUSE_STAMP = "%Y%m%dT%H%M%S%f"
WAITS = "Messages are waiting. Check the problem, then resume on this page."
TRIED_AGAIN = (
    "No emails are lost. They are retried from time to time, and at once when you resume on this page."
)
CONNECT_AGAIN = "Nothing is lost. Press Connect again on this page. Then the posts are sent, in order."
NOTHING_LOST = (
    "Nothing is lost. Messages are sent once the service accepts them. Check "
    "which lanes it refuses, and reconnect or remove those bridges."
)


@dataclass(frozen=True, slots=True)
class Pause:
    """Something that waits. `key` identifies this pause."""

    key: str
    what: str
    reason: str
    page: str
    noun: str
    closing: str = WAITS


def tell_of_pauses(*, now: datetime) -> int:
    """Queue mails about unreported pauses, at most every three hours. Return how many."""
    paused = [*_troubled_services(now), *_refused_lanes_and_domains(now), *_paused_newsletters_and_issues()]
    if not paused:
        return 0
    # Contexts of earlier mails have the reported pauses.
    rows = Delivery.objects.filter(kind=Delivery.Kind.ALERT, issue=None, key__startswith=f"{PAUSES_KEY}:")
    mails = list(rows.order_by().values_list("context", "created_at"))
    told = {key for context, _ in mails for key in context.get(TOLD, ())}
    news = [pause for pause in paused if pause.key not in told]
    if not news or not may_tell(max((made for _, made in mails), default=None), now):
        return 0
    admins = alert_recipients(now)
    if not admins:
        log.info("something was paused, and no admin has an email address for alerts")
        return 0
    keys = sorted(pause.key for pause in news)
    key = f"{PAUSES_KEY}:{hashlib.sha256(' '.join(keys).encode()).hexdigest()[:40]}"
    with transaction.atomic():
        return queue_alert(pauses_alert(news), key=key, admins=admins, now=now, more={TOLD: keys})


def _refused_lanes_and_domains(now: datetime) -> Iterator[Pause]:
    """Yield resting or automatically paused mail accounts and domains."""
    for lane in Lane.objects.filter(kind="email", refused_since__isnull=False, failures__gt=0):
        yield Pause(
            key=f"lane:{lane.pk}:{lane.refused_since:{PAUSE_STAMP}}",
            what=f"Emails of the account “{lane.name}” are waiting",
            reason=_with_advice(lane.last_error),
            page=object_url(lane),
            noun="mail account",
            closing=TRIED_AGAIN,
        )
    # Of shared accounts, bridges' pages show refusals, and the Discord bot informs servers.
    own = Lane.objects.exclude(kind="email").filter(parent=None)
    for lane in own.filter(refused_since__isnull=False, failures__gt=0):
        to = {"destination__kind": lane.kind, "destination__core": lane.account}
        bridges = Subscribable.objects.filter(subscriptions__in=Subscription.objects.confirmed().filter(**to))
        for bridge in bridges.order_by("pk"):
            yield Pause(
                key=f"lane:{lane.pk}:{lane.refused_since:{PAUSE_STAMP}}",
                what=f"Posts of “{shortened(one_line(str(bridge)), LONGEST_ALERT_TITLE)}” are waiting",
                reason=lane.last_error,
                page=object_url(bridge),
                noun="bridge",
                closing=CONNECT_AGAIN,
            )
    paused = LaneDomain.objects.filter(paused=True, paused_reason__startswith=BY_ITSELF)
    for row in paused.select_related("lane"):
        sign = hashlib.sha256(row.paused_reason.encode()).hexdigest()[:16]
        yield Pause(
            key=f"domain:{row.pk}:{sign}",
            what=f"Emails to {row.domain} are paused",
            reason=pause_cause(row.paused_reason),
            page=object_url(row.lane),
            noun="domain",
        )
    # Only in lanes that work.
    resting = LaneDomain.objects.filter(refused_since__isnull=False, free_at__gt=now, paused=False)
    rows = resting.filter(lane__refused_since=None)
    for row in rows.select_related("lane"):
        yield Pause(
            key=f"rest:{row.pk}:{row.refused_since:{PAUSE_STAMP}}",
            what=f"Emails to {row.domain} wait",
            reason=_with_advice(row.last_error),
            page=object_url(row.lane),
            noun="domain",
            closing=TRIED_AGAIN,
        )


def _troubled_services(now: datetime) -> Iterator[Pause]:
    """Yield services that refuse too much; consecutive rests count once."""
    for breaker, row in troubles(now):
        yield Pause(
            key=f"service:{breaker.service}:{row.since:{PAUSE_STAMP}}",
            what=f"Messages for {breaker.name} are waiting",
            reason=f"{trouble_in_words(breaker, row, now)} It said last: {row.said}",
            page=list_url(Lane),
            noun="service",
            closing=NOTHING_LOST,
        )


def _paused_newsletters_and_issues() -> Iterator[Pause]:
    """Yield automatically paused newsletters and issues."""
    newsletters = Subscribable.objects.filter(sending_paused_reason__startswith=BY_ITSELF)
    for newsletter in newsletters.filter(sending_paused_at__isnull=False):
        yield Pause(
            key=f"newsletter:{newsletter.pk}:{newsletter.sending_paused_at:{PAUSE_STAMP}}",
            what=f"“{shortened(one_line(str(newsletter)), LONGEST_ALERT_TITLE)}” is paused",
            reason=pause_cause(newsletter.sending_paused_reason),
            page=object_url(newsletter),
            noun="newsletter",
        )
    issues = Issue.objects.filter(paused_at__isnull=False, paused_reason__startswith=BY_ITSELF)
    for issue in issues.defer("html", "text", "placeholders").select_related("subscribable"):
        title = shortened(one_line(str(issue)), LONGEST_ALERT_TITLE)
        yield Pause(
            key=f"issue:{issue.pk}:{issue.paused_at:{PAUSE_STAMP}}",
            what=f"“{title}” of {issue.subscribable} is paused",
            reason=pause_cause(issue.paused_reason),
            page=object_url(issue),
            noun="issue",
        )


def _with_advice(said: str) -> str:
    return f"{said} {advice(meaning(said))}".strip()


def pauses_alert(news: Sequence[Pause]) -> Alert:
    if len(news) == 1:
        pause = news[0]
        return Alert(
            subject=pause.what,
            sentences=(f"{pause.what}: {pause.reason}",),
            closing=(pause.closing,),
            page=pause.page,
        )
    counts = Counter(pause.noun for pause in news)
    shown = " and ".join(pluralize(count, noun) for noun, count in counts.items())
    do = "are paused" if all(pause.closing == WAITS for pause in news) else "wait"
    lines = [f"{pause.what}: {pause.reason}" for pause in news]
    return Alert(
        subject=f"{shown} {do}",
        sentences=("Servers refuse so many of your emails that these are waiting:",),
        lines=list_lines(lines),
        page=reverse("admin:index"),
    )
