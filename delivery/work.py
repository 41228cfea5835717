"""First queries of each stage: where they find nothing, no pass begins."""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import (
    Count,
    DateTimeField,
    DurationField,
    Exists,
    ExpressionWrapper,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
)
from django.db.models.functions import Cast, Coalesce

from delivery.bridges.corrections import corrections_to_take
from delivery.engine.claim import with_due
from delivery.issues.broadcasts import scheduled_letters
from delivery.issues.frequency_switches import switches_to_apply
from delivery.issues.publish import due_drafts, over
from delivery.issues.send_series import due_series
from delivery.models import Delivery, IssueImport
from delivery.webhooks.calls import callable_webhooks
from delivery.webhooks.hub import hub_due
from subscriptions.collections.assign import dropping_feeds
from subscriptions.collections.readiness import behind
from subscriptions.models import Assignable, Assignment, Notice, SignInRequest, Subscribable

Questions = tuple[QuerySet[Any], ...]


def to_complete(now: datetime) -> Questions:
    return (
        behind(now).later(now),
        due_drafts(now),
        scheduled_letters(now),
        over(now),
        collections_over(now),
        dropping_feeds(),
        *switches_to_apply(now),
        due_series(now),
    )


def to_send(now: datetime) -> Questions:
    return (
        SignInRequest.objects.all(),
        Notice.objects.all(),
        with_due(now),
        Delivery.objects.expired(now),
        *corrections_to_take(now),
    )


def to_call(now: datetime) -> Questions:
    return (callable_webhooks(now), hub_due(now))


def to_import(now: datetime) -> Questions:
    return (IssueImport.claimable(now), IssueImport.forgettable(now))


def collections_over(now: datetime) -> "QuerySet[Assignable]":
    """Return non-empty collections that are over or full (rules.completion)."""
    every_n = Subscribable.Arrangement.EVERY_N
    fills = Q(capacity__isnull=False, subscribable__arrangement=every_n, subscribable__stopped=False)
    inside = Assignment.objects.filter(assignable=OuterRef("pk")).order_by()
    kept = inside.kept().values("assignable").annotate(count=Count("pk")).values("count")
    count = Coalesce(Subquery(kept), 0)
    # Cast: SQLite's arithmetic of times takes only plain integers.
    days = Cast("subscribable__max_wait_days", IntegerField()) * Value(timedelta(days=1))
    wait = ExpressionWrapper(days, output_field=DurationField())
    waited = ExpressionWrapper(F("opened_at") + wait, output_field=DateTimeField())
    rows = Assignable.objects.due(now).alias(count=count, waited=waited).filter(Exists(inside))
    full = ~fills | Q(count__gte=F("capacity")) | Q(count__gt=0, waited__lte=now)
    by_hand = Q(count__gt=0, sent_now_at__isnull=False)
    return rows.filter(Q(period_end__lte=now) | Q(period_end=None) & full | by_hand)
