from datetime import datetime
from typing import Any

from common.cli.tables import fields_of
from subscriptions.admin_words import rhythm_for_admins
from subscriptions.models import PostRule, Subscribable, Subscription
from subscriptions.newsletters.define import next_close, with_figures


def subscribable_row(subscribable: Any, *, now: datetime) -> dict[str, Any]:
    return {
        **fields_of(subscribable, "name title channel arrangement time_zone"),
        "feeds": [feed.pk for feed in subscribable.feeds.all()],
        "subscribers": subscribable.subscribers,
        "open": subscribable.open,
        "next_close": next_close(subscribable, now=now),
        "rhythm": rhythm_for_admins(subscribable),
    }


def counted(subscribable: Subscribable, *, now: datetime) -> dict[str, Any]:
    row = with_figures(Subscribable.objects.filter(pk=subscribable.pk)).get()
    return subscribable_row(row, now=now)


def rule_row(rule: PostRule) -> dict[str, Any]:
    return {
        "id": rule.pk,
        "rule": str(rule),
        **fields_of(rule, "action field test pattern"),
        "with": rule.replacement,
        "active": rule.active,
        "trouble": rule.trouble,
    }


def subscriber_row(subscription: Any) -> dict[str, Any]:
    return {
        "id": subscription.pk,
        "destination": subscription.destination.label,
        "name": subscription.display_name,
        "status": "suppressed" if subscription.suppressed else subscription.status,
        "confirmed": subscription.status == Subscription.Status.CONFIRMED,
        "added": subscription.added_at,
    }
