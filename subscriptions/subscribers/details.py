"""What a subscriber may change about their own subscription: name, language, and a pause.

What comes during a pause is not sent, and not sent later either.
"""

from datetime import date, datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from common.clock import utcnow
from common.ports.events import Event, EventKind, emit
from subscriptions.models import Subscription
from subscriptions.models.subscription import random_token
from subscriptions.rules.pauses import pause_end
from subscriptions.rules.sign_up import tidy_name
from subscriptions.subscribers.lineage import lineage_of, predecessors


@transaction.atomic
def rename(*, subscription: Subscription, name: str) -> None:
    """Sets the name letters are addressed to; an empty one is fine."""
    subscription.display_name = tidy_name(name)
    _change(Subscription.objects.filter(pk=subscription.pk), display_name=subscription.display_name)


@transaction.atomic
def save_details(*, subscription: Subscription, name: str, language: str | None = None) -> None:
    """Sets name and language, also for the newsletter that it is being switched to.

    The language "" is the newsletter's; None leaves it as it is.
    """
    changes = {"display_name": tidy_name(name)}
    if language is not None:
        changes["language"] = language
    _change(Subscription.objects.filter(pk__in=lineage_of(subscription)), **changes)
    subscription.refresh_from_db(fields=list(changes))


@transaction.atomic
def revoke_links(*, subscription: Subscription) -> None:
    """The links in all letters sent so far stop working, one-click included; new letters carry new ones."""
    keys = {subscription.pk} | predecessors(subscription)
    for one in Subscription.objects.filter(pk__in=keys).order_by("pk"):
        one.token = random_token()
        one.save(update_fields=["token"])
    subscription.refresh_from_db(fields=["token"])


def pause(*, subscription: Subscription, until: date, now: datetime) -> None:
    """Until that day begins on the newsletter's clock. Raises BadDate for one past or too far off."""
    end = pause_end(until, now=now, zone=subscription.subscribable.zone)
    _set_pause(subscription, end)


def resume(*, subscription: Subscription) -> None:
    """The next letter comes again."""
    _set_pause(subscription, None)


def is_paused(subscription: Subscription, now: datetime) -> bool:
    return subscription.paused_until is not None and subscription.paused_until > now


@transaction.atomic
def _set_pause(subscription: Subscription, until: datetime | None) -> None:
    _change(Subscription.objects.filter(pk__in=lineage_of(subscription)), paused_until=until)
    subscription.paused_until = until


def _change(rows: "QuerySet[Subscription]", **changes: Any) -> None:
    """Change the rows, and tell of those that were different."""
    different = rows.exclude(**changes) if None not in changes.values() else rows.exclude(paused_until=None)
    keys = list(different.order_by("pk").values_list("pk", flat=True))
    rows.update(**changes)
    tell_changed(Subscription.objects.filter(pk__in=keys))


def tell_changed(rows: "QuerySet[Subscription]") -> None:
    """Tell of subscriptions whose details or tags changed, in the caller's transaction."""
    going_on = rows.exclude(status=Subscription.Status.UNSUBSCRIBED).filter(ended_at=None).order_by("pk")
    emit(Event(EventKind.UPDATED, tuple(going_on.values_list("pk", flat=True)), utcnow()))
