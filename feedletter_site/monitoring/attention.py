"""Alerts: problems that need a person, with links."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import get_permission_codename
from django.db.models import Model, Q, QuerySet
from django.urls import reverse
from django.utils.text import capfirst

from common.access import role_of, visible_to
from common.admin.html import list_url, object_url, short_when_there
from common.clock import utcnow
from common.ports.registries import alert_sources
from common.text import pluralize, shortened
from delivery.accounts.accounts import keeps_letters, sends_nothing
from delivery.alerts import troubles
from delivery.alerts.troubles import Trouble
from delivery.issues.publish import drafts
from delivery.models import Bounce, Broadcast, Delivery, Issue, Lane, Webhook, WebhookCall
from delivery.models.delivery import NOT_FINISHED
from delivery.webhooks.calls import TEST
from feedletter_site import env
from feedletter_site.models import Figure
from feedletter_site.services.backups import BACKUP_NAME
from feeds.models import Feed
from subscriptions.models import Assignable, Subscribable
from subscriptions.subscribers.antispam import undeclared_proxy
from subscriptions.subscribers.counts import confirmed_counts

SCHEDULE = "admin:django_celery_beat_periodictask_changelist"
ALERTS_SHOWN = 6
LONGEST_REASON, LONGEST_ALERT = 200, 300
FAILED_LATELY = timedelta(days=7)
# Shorter failures may resolve themselves.
WEBHOOK_FAILS_AFTER = timedelta(hours=1)
# Workers check every few seconds, so after this none is running.
OVERDUE = timedelta(minutes=10)
COUNTED_TO = 50_000


@dataclass(frozen=True, slots=True)
class Alert:
    """`also`: a second label and address."""

    sentence: str
    label: str = ""
    url: str = ""
    also: tuple[str, str] | None = None
    detail: str = ""


def seeing(model: type[Model]) -> list[str]:
    """Return permissions, any of which shows a model's rows: who may change them may view them."""
    meta = model._meta
    return [f"{meta.app_label}.{get_permission_codename(word, meta)}" for word in ("view", "change")]


def may_see(user: Any, model: type[Model]) -> bool:
    return any(map(user.has_perm, seeing(model)))


def alerts(user: Any) -> list[Alert]:
    """Put the most urgent first."""
    now = utcnow()
    stopped = (
        [*map(alert_of, troubles.service_troubles(now)), *paused_domains(now)] if may_see(user, Lane) else []
    )
    paused = [*paused_newsletters(), *paused_issues()] if may_see(user, Issue) else []
    if role_of(user):
        return [*paused, *objects_in_trouble(user)]
    also = [*proxies(), *(alert for source in alert_sources for alert in source())]
    return [*stalled(), *backups(), *paused, *objects_in_trouble(user), *stopped, *mail(), *also]


def drafts_in_need(user: Any, now: datetime) -> list[Alert]:
    """Return the issues that wait for approval, with when they are sent without it."""
    waiting = visible_to(user, drafts().select_related("subscribable"), "subscribable")
    rows = list(waiting[: ALERTS_SHOWN + 1])
    people = confirmed_counts(row.subscribable_id for row in rows)
    lines = []
    for row in rows[:ALERTS_SHOWN]:
        newsletter = row.subscribable
        at = row.release_at
        due = f"sent {short_when_there(at, now=now, zone=newsletter.zone)}" if at else ""
        whom = pluralize(people[newsletter.pk], "person", "people")
        detail = " · ".join(filter(None, (shortened(str(row), LONGEST_REASON), due, whom)))
        lines.append(
            Alert(f"{newsletter} waits for your approval", "Look at it", object_url(row), detail=detail)
        )
    if len(rows) > ALERTS_SHOWN:
        lines.append(Alert("More issues wait for your approval", "See all", list_url(Issue, state="draft")))
    return lines


def paused_newsletters() -> list[Alert]:
    more = Alert(
        "More newsletters are paused", "See all", list_url(Subscribable, sending_paused_at__isnull="False")
    )
    return first_of(troubles.paused_newsletters(), troubles.newsletter_troubles, "issue__subscribable", more)


def paused_issues() -> list[Alert]:
    """Leave out the issues of paused newsletters."""
    rows = troubles.paused_issues().filter(subscribable__sending_paused_at=None)
    more = Alert("More issues are paused", "See all", list_url(Issue, state="paused"))
    return first_of(rows, troubles.issue_troubles, "issue", more)


def first_of(
    rows: QuerySet[Any], source: Callable[[Iterable[Any]], Iterator[Trouble]], field: str, more: Alert
) -> list[Alert]:
    """`field`: of deliveries, that names the row."""
    some = list(rows[: ALERTS_SHOWN + 1])
    shown = some[:ALERTS_SHOWN]
    lines = [
        alert_of(trouble, held_letters(Q(**{field: row})))
        for row, trouble in zip(shown, source(shown), strict=True)
    ]
    return [*lines, more] if len(some) > ALERTS_SHOWN else lines


def alert_of(trouble: Trouble, held: str = "") -> Alert:
    sentence = f"{trouble.sentence}: {held}" if held else trouble.sentence
    return Alert(sentence, "Look", trouble.page, detail=capfirst(shortened(trouble.reason, LONGEST_REASON)))


def held_letters(which: Q) -> str:
    waiting = Delivery.objects.filter(which, state__in=NOT_FINISHED).order_by().values("pk")
    count = waiting[: COUNTED_TO + 1].count()
    if count > COUNTED_TO:
        return f"more than {COUNTED_TO:,} emails wait"
    return f"{pluralize(count, 'email')} {'waits' if count == 1 else 'wait'}" if count else ""


def stalled() -> list[Alert]:
    before = utcnow() - OVERDUE
    lanes = Lane.objects.filter(paused=False).filter(Q(free_at=None) | Q(free_at__lt=before))
    late = Delivery.objects.due(before).filter(lane__in=lanes).exists()
    if not late and not Feed.objects.due(before).exists():
        return []
    words, detail = f"Work is overdue by more than {OVERDUE.seconds // 60} minutes", "Is a worker running?"
    return [Alert(words, "See the schedule", reverse(SCHEDULE), detail=detail)]


def backups() -> list[Alert]:
    kept = Figure.objects.filter(pk=BACKUP_NAME).first() if settings.BACKUP_DIR else None
    problem = shortened(str(kept.value["problem"]), LONGEST_ALERT) if kept else ""
    words = "The nightly backup failed and is tried again in ten minutes"
    return [Alert(words, "See the schedule", reverse(SCHEDULE), detail=problem)] if problem else []


def objects_in_trouble(user: Any) -> list[Alert]:
    failed = Delivery.objects.filter(state="failed", created_at__gte=utcnow() - FAILED_LATELY)
    stuck = Q(paused=True) | Q(failures__gt=0)
    # Deliveries of a paused issue need no attention.
    held = Delivery.objects.filter(state="held").exclude(held_for__in=("pause", "restore"))
    deaf = Q(disabled_at__isnull=False) | Q(active=True, failing_since__lte=utcnow() - WEBHOOK_FAILS_AFTER)
    lately = WebhookCall.objects.filter(created_at__gte=utcnow() - FAILED_LATELY)
    untold = lately.filter(state="failed").exclude(kind=TEST)
    written = Broadcast.objects.filter(issue=None, send_at__isnull=False)
    kinds: tuple[tuple[QuerySet[Any], str, dict[str, str]], ...] = (
        (held, "delivery is held for you", {"state__exact": "held"}),
        (Bounce.objects.filter(held=True), "bounce is held for you", {"held__exact": "1"}),
        (failed, "delivery failed this week", {"state__exact": "failed"}),
        (Assignable.objects.filter(failures__gt=0), "issue can’t be created", {}),
        (written.filter(failures__gt=0), "email can’t be sent", {"state": "scheduled"}),
        (Lane.objects.filter(stuck), "lane is paused or can’t send", {}),
        (Webhook.objects.filter(deaf), "webhook can’t be reached", {}),
        (untold, "call of a webhook failed this week", {"state__exact": "failed"}),
    )
    seen = []
    for rows, words, filters in kinds:
        if not may_see(user, rows.model) or not (count := rows.count()):
            continue
        noun, _, verb = words.partition(" ")
        if count > 1 and verb.startswith("is "):
            verb = f"are{verb[2:]}"
        sentence = f"{pluralize(count, noun, 'deliveries' if noun == 'delivery' else '')} {verb}"
        seen.append(Alert(sentence, "Look", list_url(rows.model, **filters)))
    return seen


def paused_domains(now: datetime) -> list[Alert]:
    rows = troubles.waiting_domains(now)
    shown = [alert_of(trouble) for trouble in troubles.domain_troubles(rows[:ALERTS_SHOWN])]
    if (more := rows.count() - ALERTS_SHOWN) > 0:
        shown.append(Alert(f"Emails to {pluralize(more, 'more domain')} wait, too", "Look", list_url(Lane)))
    return shown


def proxies() -> list[Alert]:
    if not (address := undeclared_proxy()):
        return []
    value = ",".join([*map(str, settings.TRUSTED_PROXIES), address])
    words = f"Visitors come from one address, {address}, so sign-ups are limited for all together."
    hint = f"If it is your proxy, set TRUSTED_PROXIES={value}. The proxy must send X-Forwarded-For."
    return [Alert(words, detail=hint)]


def mail() -> list[Alert]:
    if env.text("FEEDLETTER_DEMO"):
        # Its own alert says where emails are.
        return []
    where = reverse("mail_set_up")
    if keeps_letters():
        mailbox = ("Open the mailbox", reverse("delivery:mailbox"))
        kept = "Emails are kept in the mailbox here, not sent"
        return [Alert(kept, "Set up email", where, mailbox)]
    if sends_nothing():
        return [Alert("No email can be sent", "Set up email", where)]
    return []
