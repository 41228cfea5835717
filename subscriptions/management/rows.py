from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet

from subscriptions.admin_words import rhythm_for_admins
from subscriptions.models import PostRule, Subscribable, Subscription, Suppression
from subscriptions.rules.periods import next_ends


def with_counts(rows: "QuerySet[Subscribable]") -> "QuerySet[Subscribable]":
    """Annotate what `subscribable_row` needs."""
    confirmed = Q(subscriptions__status=Subscription.Status.CONFIRMED, subscriptions__ended_at=None)
    return rows.annotate(
        subscribers=Count("subscriptions", filter=confirmed, distinct=True),
        open=Count("assignables", distinct=True),
        closes=Min("assignables__period_end"),
    ).prefetch_related("feeds")


def subscribable_row(subscribable: Any, *, now: datetime) -> dict[str, Any]:
    return {
        "name": subscribable.name,
        "title": subscribable.title,
        "channel": subscribable.channel,
        "arrangement": subscribable.arrangement,
        "time_zone": subscribable.time_zone,
        "feeds": [feed.pk for feed in subscribable.feeds.all()],
        "subscribers": subscribable.subscribers,
        "open": subscribable.open,
        "next_close": subscribable.closes or next_end(subscribable, now=now),
        "rhythm": rhythm_for_admins(subscribable),
    }


def counted(subscribable: Subscribable, *, now: datetime) -> dict[str, Any]:
    row = with_counts(Subscribable.objects.filter(pk=subscribable.pk)).get()
    return subscribable_row(row, now=now)


def next_end(subscribable: Subscribable, *, now: datetime) -> datetime | None:
    """Return None without a calendar."""
    ends = next_ends(subscribable.schedule, subscribable.zone, now, 1)
    return ends[0] if ends else None


def rule_row(rule: PostRule) -> dict[str, Any]:
    return {
        "id": rule.pk,
        "rule": str(rule),
        "action": rule.action,
        "field": rule.field,
        "test": rule.test,
        "pattern": rule.pattern,
        "with": rule.replacement,
        "active": rule.active,
        "trouble": rule.trouble,
    }


def with_suppressed(rows: "QuerySet[Subscription]") -> "QuerySet[Subscription]":
    same = Suppression.objects.filter(kind=OuterRef("destination__kind"), core=OuterRef("destination__core"))
    return rows.select_related("destination").annotate(suppressed=Exists(same))


def subscriber_row(subscription: Any) -> dict[str, Any]:
    return {
        "id": subscription.pk,
        "destination": subscription.destination.label,
        "name": subscription.display_name,
        "status": "suppressed" if subscription.suppressed else subscription.status,
        "confirmed": subscription.status == Subscription.Status.CONFIRMED,
        "added": subscription.added_at,
    }
