"""Leaving a newsletter, or all newsletters of an address, and taking that back."""

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
    """Ends the subscription, what it is being switched to, and any confirmation link under way.

    A second time changes nothing. A reader who leaves may take it back for a day (`undo_leaving`), and has a
    farewell mailed where the newsletter sends one.
    """
    leaving = _locked(lineage_of(subscription), ~_LEFT)
    active = [one for one in leaving if one.status == CONFIRMED and one.ended_at is None]
    for one in leaving:
        # What a switch has ended stays ended by that.
        one.status, one.left_at, one.ended_at = LEFT, one.ended_at or now, None
        one.undo_until = now + UNDO_FOR if by_reader and one in active else None
        one.confirm_nonce, one.asked_name = "", ""
        one.save(update_fields=CHANGED_BY_LEAVING)
    if leaving:
        keys = [one.pk for one in leaving]
        Notice.objects.filter(subscription__in=keys).delete()
        # Whoever was switching to a newsletter that they had before, and leave now, stays with the old one.
        vain = FrequencyChange.objects.filter(new__in=keys, was_there=True, settled_at=None)
        Subscription.objects.filter(switches_away__in=vain).update(receives_until=None)
        vain.delete()
        emit(Event(EventKind.LEFT, tuple(keys), now))
    if by_reader:
        _say_farewell(active, now)
    subscription.refresh_from_db(fields=CHANGED_BY_LEAVING)


def say_why(*, subscription: Subscription, why: str) -> None:
    """Keeps why its reader left: one of the reasons there are, of who has left. Anything else is not kept."""
    if why in Subscription.LeftWhy.values:
        Subscription.objects.filter(_LEFT, pk=subscription.pk).update(left_why=why)


def may_say_why(subscription: Subscription, now: datetime) -> bool:
    """Whether its reader is asked: for a day, and once."""
    left_at = subscription.left_at
    return bool(left_at and now - left_at < UNDO_FOR and not subscription.left_why)


def reasons_for_leaving(subscribable: Subscribable) -> dict[str, int]:
    """How many gave which reason, of those who left and stayed away; the most frequent first."""
    rows = subscribable.subscriptions.filter(_LEFT).exclude(left_why="").order_by()
    counts = rows.values_list("left_why").annotate(n=Count("pk"))
    return {str(why): int(n) for why, n in sorted(counts, key=lambda row: -row[1])}


@transaction.atomic
def undo_leaving(*, subscription: Subscription, now: datetime) -> bool:
    """Takes it back, exactly, for a day after the reader left. False when there is nothing to take back."""
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


def can_undo(*, subscription: Subscription, now: datetime) -> bool:
    """Whether `undo_leaving` would bring anything back."""
    rows = Subscription.objects.filter(_LEFT, pk__in=lineage_of(subscription)).select_related("destination")
    return any(may_undo(one, now) for one in rows)


def may_undo(subscription: Subscription, now: datetime) -> bool:
    """Not once nothing may be sent there any more: a complaint may have come after the leaving."""
    if subscription.undo_until is None or subscription.undo_until <= now:
        return False
    to = subscription.destination
    suppressed = Suppression.objects.filter(kind=to.kind, core=to.core).exists()
    return to.disabled_at is None and not suppressed


def _locked(keys: set[int], which: Q) -> list[Subscription]:
    rows = Subscription.objects.filter(which, pk__in=keys).select_related("subscribable", "destination")
    return list(rows.select_for_update(of=("self",), no_key=True).order_by("pk"))


def _say_farewell(gone: list[Subscription], now: datetime) -> None:
    """One mail at most. Where a switch joins two subscriptions, it is of the older one."""
    said = [one for one in gone if one.subscribable.farewell_mail and not one.is_beside]
    if not said:
        return
    one = said[0]
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
    """The subscriptions that an address receives or has yet to confirm, and any that a switch just ended."""
    return destination.subscriptions.exclude(status=Subscription.Status.UNSUBSCRIBED).order_by("pk")


def is_received(subscription: Subscription) -> bool:
    """Whether it is received, or has yet to be confirmed."""
    return subscription.status != Subscription.Status.UNSUBSCRIBED and subscription.ended_at is None


@transaction.atomic
def leave_all(*, destination: Destination, now: datetime) -> int:
    """Ends all of them, as if the reader had left each. Returns how many; a second time, none."""
    rows = list(not_left(destination))
    for subscription in rows:
        leave(subscription=subscription, now=now, by_reader=True)
    return len(rows)
