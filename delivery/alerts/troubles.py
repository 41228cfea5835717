"""Troubles that may need a person, for the overview and the alerts by mail."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, Model, OuterRef, Q, QuerySet

from channels.rules.meaning import advice
from channels.rules.server_words import meaning
from common.admin.html import list_url, object_url
from common.text import one_line, shortened
from delivery.bounces.domain_refusals import BY_ITSELF, pause_cause
from delivery.lanes.lanes import trouble_in_words, troubled_services
from delivery.models import Delivery, Issue, Lane, LaneDomain
from delivery.models.delivery import NOT_FINISHED
from subscriptions.models import Subscribable, Subscription

LONGEST_TITLE = 80
STAMP = "%Y%m%dT%H%M%S%f"
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
class Trouble:
    """`key` identifies this occurrence, `noun` what waits; `closing` says what to do in a mail."""

    key: str
    sentence: str
    reason: str
    page: str
    noun: str
    closing: str = WAITS


def service_troubles(now: datetime) -> Iterator[Trouble]:
    """Yield services that refuse too much; consecutive rests count once."""
    for breaker, row in troubled_services(now):
        yield Trouble(
            key=f"service:{breaker.service}:{row.since:{STAMP}}",
            sentence=f"Messages for {breaker.name} are waiting",
            reason=f"{trouble_in_words(breaker, row, now)} It said last: {row.said}",
            page=list_url(Lane),
            noun="service",
            closing=NOTHING_LOST,
        )


def lane_troubles() -> Iterator[Trouble]:
    """Yield accounts that are refused."""
    for lane in Lane.objects.filter(kind="email", refused_since__isnull=False, failures__gt=0):
        yield Trouble(
            key=f"lane:{lane.pk}:{lane.refused_since:{STAMP}}",
            sentence=f"Emails of the account “{lane.name}” are waiting",
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
            yield Trouble(
                key=f"lane:{lane.pk}:{lane.refused_since:{STAMP}}",
                sentence=f"Posts of {titled(bridge)} are waiting",
                reason=lane.last_error,
                page=object_url(bridge),
                noun="bridge",
                closing=CONNECT_AGAIN,
            )


def waiting_domains(now: datetime) -> QuerySet[LaneDomain]:
    rests = Q(refused_since__isnull=False, free_at__gt=now)
    return LaneDomain.objects.filter(Q(paused=True) | rests).select_related("lane").order_by("domain", "lane")


def domain_troubles(rows: Iterable[LaneDomain]) -> Iterator[Trouble]:
    """Yield domains that are paused or rest. `rows`: of `waiting_domains`."""
    for row in rows:
        if row.paused:
            sign = hashlib.sha256(row.paused_reason.encode()).hexdigest()[:16]
            yield Trouble(
                key=f"domain:{row.pk}:{sign}",
                sentence=f"Emails to {row.domain} are paused",
                reason=pause_cause(row.paused_reason),
                page=object_url(row.lane),
                noun="domain",
            )
        else:
            yield Trouble(
                key=f"rest:{row.pk}:{row.refused_since:{STAMP}}",
                sentence=f"Emails to {row.domain} wait",
                reason=_with_advice(row.last_error),
                page=object_url(row.lane),
                noun="domain",
                closing=TRIED_AGAIN,
            )


def paused_newsletters() -> QuerySet[Subscribable]:
    return Subscribable.objects.filter(sending_paused_at__isnull=False).order_by("sending_paused_at", "pk")


def newsletter_troubles(rows: Iterable[Subscribable]) -> Iterator[Trouble]:
    for row in rows:
        yield _paused("newsletter", row, titled(row), row.sending_paused_at, row.sending_paused_reason)


def paused_issues() -> QuerySet[Issue]:
    """Return issues with unsent letters or an automatic pause."""
    left = Delivery.objects.filter(issue=OuterRef("pk"), state__in=NOT_FINISHED)
    rows = Issue.objects.filter(paused_at__isnull=False, cancelled_at=None)
    rows = rows.filter(Exists(left) | Q(paused_reason__startswith=BY_ITSELF))
    return (
        rows.defer("html", "text", "placeholders")
        .select_related("subscribable")
        .order_by("-paused_at", "-pk")
    )


def issue_troubles(rows: Iterable[Issue]) -> Iterator[Trouble]:
    for row in rows:
        title = f"{titled(row)} of {row.subscribable}"
        yield _paused("issue", row, title, row.paused_at, row.paused_reason)


def _paused(noun: str, row: Model, title: str, at: datetime | None, reason: str) -> Trouble:
    key = f"{noun}:{row.pk}:{at:{STAMP}}"
    return Trouble(key, f"{title} is paused", pause_cause(reason), object_url(row), noun)


def titled(row: object) -> str:
    return f"“{shortened(one_line(str(row)), LONGEST_TITLE)}”"


def _with_advice(said: str) -> str:
    return f"{said} {advice(meaning(said))}".strip()
