"""Mails to admins about what waits: refused letters, message caps, drafts."""

import hashlib
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.text import get_text_list

from common.access import newsletters_of
from common.admin.html import list_url, object_url, when
from common.text import pluralize
from delivery.alerts import troubles
from delivery.alerts.messages import (
    Alert,
    addresses_of,
    alert_recipients,
    list_lines,
    queue_alert,
    tell_admins,
)
from delivery.alerts.troubles import WAITS, Trouble, titled
from delivery.bounces.domain_refusals import BY_ITSELF
from delivery.issues.audience import recipients_of
from delivery.issues.publish import drafts
from delivery.lanes.lanes import day_is_full
from delivery.lanes.limits import OVER
from delivery.models import Delivery, Issue, Lane
from feeds.rules.alerts import may_tell
from subscriptions.branding.brands import admin_zone

log = logging.getLogger(__name__)

PAUSES_KEY = "pauses"
# Reported pauses, in a mail's context.
TOLD = "told"
CAPS_KEY = "caps"
GOES_ON = (
    "Nothing is lost, and you don’t need to do anything. If you want to send "
    "more, raise the limit on this page."
)
# Many newsletters may complete at seven: one mail for all.
GAP = timedelta(minutes=10)
DRAFTS_KEY = "drafts"


def tell_of_everything(*, now: datetime) -> None:
    with timezone.override(admin_zone()):
        for tell in (tell_admins, tell_of_drafts, tell_of_pauses, tell_of_caps):
            tell(now=now)


def tell_of_pauses(*, now: datetime) -> int:
    """Queue mails about unreported pauses, at most every three hours. Return how many."""
    paused = list(_stopped_by_itself(now))
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


def _stopped_by_itself(now: datetime) -> Iterator[Trouble]:
    automatic = Q(paused_reason__startswith=BY_ITSELF)
    # While its lane rests, that is the trouble.
    told = Q(automatic, paused=True) | Q(paused=False, lane__refused_since=None)
    domains = troubles.waiting_domains(now).filter(told)
    newsletters = troubles.paused_newsletters().filter(sending_paused_reason__startswith=BY_ITSELF)
    yield from troubles.service_troubles(now)
    yield from troubles.lane_troubles()
    yield from troubles.domain_troubles(domains)
    yield from troubles.newsletter_troubles(newsletters)
    yield from troubles.issue_troubles(troubles.paused_issues().filter(automatic))


def pauses_alert(news: Sequence[Trouble]) -> Alert:
    if len(news) == 1:
        pause = news[0]
        return Alert(
            subject=pause.sentence,
            sentences=(f"{pause.sentence}: {pause.reason}",),
            closing=(pause.closing,),
            page=pause.page,
        )
    counts = Counter(pause.noun for pause in news)
    shown = get_text_list([pluralize(count, noun) for noun, count in counts.items()], "and")
    do = "are paused" if all(pause.closing == WAITS for pause in news) else "wait"
    lines = [f"{pause.sentence}: {pause.reason}" for pause in news]
    return Alert(
        subject=f"{shown} {do}",
        sentences=("Servers refuse so many of your emails that these are waiting:",),
        lines=list_lines(lines),
        page=reverse("admin:index"),
    )


def tell_of_caps(*, now: datetime) -> int:
    """Queue a mail per admin, account and UTC day. Return how many."""
    told = 0
    for lane in Lane.objects.filter(per_recipient__isnull=False).order_by("pk"):
        key = f"{CAPS_KEY}:{lane.pk}:{now.astimezone(UTC):%Y%m%d}"
        rows = Delivery.objects.filter(kind=Delivery.Kind.ALERT, issue=None, key__startswith=f"{key}:")
        said = tuple(_reached(lane, now))
        if not said or rows.exists():
            continue
        admins = alert_recipients(now)
        if not admins:
            log.info("a cap was reached, and no admin has an email address for alerts")
            return told
        alert = Alert(
            subject=f"“{lane.account}” has reached its sending limit",
            sentences=said,
            closing=(GOES_ON,),
            page=object_url(lane),
        )
        with transaction.atomic():
            told += queue_alert(alert, key=key, admins=admins, now=now)
    return told


def _reached(lane: Lane, now: datetime) -> Iterator[str]:
    """Yield a sentence per cap that delays messages."""
    waiting = Delivery.objects.waiting().filter(lane=lane)
    if day_is_full(lane, now) and (count := waiting.filter(due_at__lte=now).count()):
        messages = pluralize(count, "message waits", "messages wait")
        yield (
            f"It has sent the {lane.per_day:,} messages allowed within 24 hours. {messages}, and will be sent"
            " as the limit allows."
        )
    if count := waiting.filter(due_at__gt=now, last_error=OVER).count():
        messages = pluralize(count, "message waits", "messages wait")
        yield (
            f"{messages} for 00:00 UTC, because the recipients have had the {lane.per_recipient} messages"
            " allowed per day."
        )


def tell_of_drafts(*, now: datetime) -> int:
    """Queue mails about unreported drafts. Return how many."""
    waiting = list(drafts().select_related("subscribable"))
    newest = max((issue.pk for issue in waiting), default=0)
    if not newest:
        return 0
    kind = Delivery.Kind.ALERT
    told = Delivery.objects.filter(kind=kind, issue=None, key__startswith=f"{DRAFTS_KEY}:").order_by()
    rows = list(told.values_list("key", "created_at"))
    heard_of = max((int(key.split(":")[1]) for key, _ in rows), default=0)
    if newest <= heard_of or any(at > now - GAP for _, at in rows):
        return 0
    admins, key = alert_recipients(now), f"{DRAFTS_KEY}:{newest}"
    senders = get_user_model().objects.filter(member__role="sender", is_active=True).in_bulk()
    others = addresses_of(get_user_model().objects.filter(pk__in=senders.keys() - admins.keys()), now)
    with transaction.atomic():
        queued = queue_alert(drafts_alert(waiting), key=key, admins=admins, now=now)
        for user, address in others.items():
            own = newsletters_of(senders[user])
            theirs = [issue for issue in waiting if own is None or issue.subscribable_id in own]
            if theirs:
                queued += queue_alert(drafts_alert(theirs), key=key, admins={user: address}, now=now)
    return queued


def drafts_alert(waiting: list[Issue]) -> Alert:
    if len(waiting) > 1:
        lines = [f"{titled(issue)} of {issue.subscribable}. {goes_out(issue)}" for issue in waiting]
        return Alert(
            subject=f"{pluralize(len(waiting), 'issue')} wait for your approval",
            sentences=("These issues are ready and haven’t been sent:",),
            lines=list_lines(lines),
            page=list_url(Issue, state="draft"),
        )
    issue = waiting[0]
    number = pluralize(recipients_of(issue).count(), "subscriber")
    return Alert(
        subject=f"{titled(issue)} waits for your approval",
        sentences=(
            f"The next issue of {issue.subscribable} is ready, for {number}. {goes_out(issue)}",
            "Its page shows the email.",
        ),
        page=object_url(issue),
    )


def goes_out(issue: Issue) -> str:
    """Return words for a draft's release."""
    if issue.release_at is None:
        return "It will be sent when you approve it."
    at = when(issue.release_at, zone=issue.subscribable.zone)
    return f"It will be sent automatically on {at}, unless you stop it."
