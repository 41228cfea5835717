from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Count, Q, QuerySet

from common.ports.events import Event, EventKind, emit
from subscriptions import links
from subscriptions.models import Destination, FrequencyChange, Notice, Subscribable, Subscription, Suppression
from subscriptions.subscribers.lineage import lineage_of
from subscriptions.subscribers.sign_up import is_open

UNDO_FOR = timedelta(hours=24)
CONFIRMED, LEFT = Subscription.Status.CONFIRMED, Subscription.Status.UNSUBSCRIBED
_LEFT = Q(status=LEFT)
CHANGED_BY_LEAVING = ["status", "left_at", "ended_at", "undo_until", "confirm_nonce", "asked_name"]


@transaction.atomic
def leave(*, subscription: Subscription, now: datetime, by_reader: bool = False) -> None:
    """End the subscription, its pending switch and its confirmation link. Idempotent.

    A reader may undo it for a day.
    """
    leaving = _locked(lineage_of(subscription), ~_LEFT)
    active = [one for one in leaving if one.status == CONFIRMED and one.ended_at is None]
    for one in leaving:
        # An end by a switch keeps its time.
        one.status, one.left_at, one.ended_at = LEFT, one.ended_at or now, None
        one.undo_until = now + UNDO_FOR if by_reader and one in active else None
        one.confirm_nonce, one.asked_name = "", ""
        one.save(update_fields=CHANGED_BY_LEAVING)
    if leaving:
        keys = [one.pk for one in leaving]
        Notice.objects.filter(subscription__in=keys).delete()
        # They had the new newsletter before, and keep the old one.
        vain = FrequencyChange.objects.filter(new__in=keys, was_there=True, settled_at=None)
        Subscription.objects.filter(switches_away__in=vain).update(receives_until=None)
        vain.delete()
        emit(Event(EventKind.LEFT, tuple(keys), now))
    if by_reader:
        _say_farewell(active, now)
    subscription.refresh_from_db(fields=CHANGED_BY_LEAVING)


def say_why(*, subscription: Subscription, why: str) -> None:
    """Ignores unknown reasons and people who did not leave."""
    if why in Subscription.LeftWhy.values:
        Subscription.objects.filter(_LEFT, pk=subscription.pk).update(left_why=why)


def may_say_why(subscription: Subscription, now: datetime) -> bool:
    """Return whether to ask for a reason: for a day, and once."""
    left_at = subscription.left_at
    return bool(left_at and now - left_at < UNDO_FOR and not subscription.left_why)


def reasons_for_leaving(subscribable: Subscribable) -> dict[str, int]:
    rows = subscribable.subscriptions.filter(_LEFT).exclude(left_why="").order_by()
    counts = rows.values_list("left_why").annotate(n=Count("pk"))
    return {str(why): int(n) for why, n in sorted(counts, key=lambda row: -row[1])}


@transaction.atomic
def undo_leaving(*, subscription: Subscription, now: datetime) -> bool:
    """Works within a day after the reader left."""
    back = [one for one in _locked(lineage_of(subscription), _LEFT) if may_undo(one, now)]
    for one in back:
        one.status, one.left_at, one.undo_until, one.left_why = CONFIRMED, None, None, ""
        one.save(update_fields=["status", "left_at", "undo_until", "left_why"])
    if back:
        keys = tuple(one.pk for one in back)
        Notice.objects.filter(subscription__in=keys, kind=Notice.Kind.FAREWELL).delete()
        emit(Event(EventKind.CONFIRMED, keys, now))
    subscription.refresh_from_db(fields=CHANGED_BY_LEAVING)
    return bool(back)


def can_return(*, subscription: Subscription, now: datetime) -> bool:
    rows = Subscription.objects.filter(_LEFT, pk__in=lineage_of(subscription)).select_related("destination")
    return any(may_undo(one, now) for one in rows)


def may_undo(subscription: Subscription, now: datetime) -> bool:
    """Check the address too, as a complaint may have arrived since."""
    if subscription.undo_until is None or subscription.undo_until <= now:
        return False
    to = subscription.destination
    suppressed = Suppression.objects.filter(kind=to.kind, core=to.core).exists()
    return to.disabled_at is None and not suppressed


def _locked(keys: set[int], which: Q) -> list[Subscription]:
    rows = Subscription.objects.filter(which, pk__in=keys).select_related("subscribable", "destination")
    return list(rows.select_for_update(of=("self",), no_key=True).order_by("pk"))


def _say_farewell(gone: list[Subscription], now: datetime) -> None:
    """One mail, of the older subscription in a switch."""
    due = [one for one in gone if one.subscribable.farewell_mail and not one.is_beside]
    if not due:
        return
    one = due[0]
    newsletter = one.subscribable
    Notice.objects.create(
        kind=Notice.Kind.FAREWELL,
        key=f"farewell-{one.pk}-{now:%Y%m%dT%H%M%S.%f}",
        destination=one.destination,
        subscription=one,
        template="farewell",
        language=one.language,
        context={
            "newsletter": str(newsletter),
            "page_url": links.page_url(newsletter) if is_open(newsletter) else "",
        },
        created_at=now,
    )


def not_left(destination: Destination) -> "QuerySet[Subscription]":
    """Return all that are received, unconfirmed, or just ended by a switch."""
    return destination.subscriptions.exclude(status=Subscription.Status.UNSUBSCRIBED).order_by("pk")


def is_received(subscription: Subscription) -> bool:
    """Includes unconfirmed ones."""
    return subscription.status != Subscription.Status.UNSUBSCRIBED and subscription.ended_at is None


@transaction.atomic
def leave_all(*, destination: Destination, now: datetime) -> None:
    for subscription in list(not_left(destination)):
        leave(subscription=subscription, now=now, by_reader=True)
