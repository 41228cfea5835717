"""A subscription and those it was switched to. Leaving and pausing affect all."""

from collections.abc import Collection
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce

from common.ports.events import Event, EventKind, emit
from common.ports.registries import needed_destinations
from subscriptions.models import (
    AddressChange,
    Consent,
    Destination,
    FrequencyChange,
    Notice,
    SignUpCode,
    Subscribable,
    Subscription,
)
from subscriptions.subscribers.notices import notice_of
from subscriptions.subscribers.series import continue_series
from subscriptions.subscribers.sign_up import is_open

# Meanwhile an old link leads to a fresh one.
KEPT_AFTER_EXPIRY = timedelta(days=7)
EXPIRED_AT_ONCE = 500
CODES_FOR = timedelta(hours=1)
MOST_SWITCHES = 20
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
        continue_series(keys, now=now)
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
    return to.disabled_at is None and to.suppression is None


def _locked(keys: set[int], which: Q) -> list[Subscription]:
    rows = Subscription.objects.filter(which, pk__in=keys).select_related("subscribable", "destination")
    return list(rows.select_for_update(of=("self",), no_key=True).order_by("pk"))


def _say_farewell(gone: list[Subscription], now: datetime) -> None:
    """One mail, of the older subscription in a switch."""
    one = next((one for one in gone if one.subscribable.farewell_mail and not one.is_beside), None)
    if one is not None:
        context = {} if is_open(one.subscribable) else {"page_url": ""}
        kind = Notice.Kind.FAREWELL
        notice_of(one, kind, "farewell", context, now=now, language=one.language, name="farewell").save()


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


def lineage_of(subscription: Subscription) -> set[int]:
    """Return keys of it and its successors, and of both sides of a pending switch.

    Excludes subscriptions that existed before a switch.
    """
    keys = {subscription.pk}
    switches = FrequencyChange.objects.filter(was_there=False).order_by()
    for _ in range(MOST_SWITCHES):
        under_way = switches.filter(Q(old__in=keys) | Q(new__in=keys), settled_at=None)
        pairs = under_way.values_list("old", "new").union(switches_that_ended(keys).values_list("old", "new"))
        further = keys | {key for pair in pairs for key in pair}
        if further == keys:
            break
        keys = further
    return keys


def switches_that_ended(keys: set[int]) -> "QuerySet[FrequencyChange]":
    """Return switches that ended these, unless they were restored."""
    ended = Coalesce("old__ended_at", "old__left_at")
    gone = FrequencyChange.objects.annotate(ended=ended).filter(old__in=keys, settled_at=F("ended"))
    return gone.filter(Q(old__status="unsubscribed") | Q(old__ended_at__isnull=False)).order_by()


def successor(subscription: Subscription) -> Subscription | None:
    if subscription.status == "confirmed" and subscription.ended_at is None:
        return None
    others = Subscription.objects.confirmed().exclude(pk=subscription.pk)
    rows = others.filter(pk__in=lineage_of(subscription))
    return rows.select_related("subscribable", "destination").order_by("pk").last()


def predecessors(subscription: Subscription) -> set[int]:
    """Return keys of earlier subscriptions, to which links in older letters belong."""
    keys = {subscription.pk}
    for _ in range(MOST_SWITCHES):
        switches = FrequencyChange.objects.filter(new__in=keys, was_there=False)
        olds = set(switches.values_list("old", flat=True))
        if olds <= keys:
            break
        keys |= olds
    return keys - {subscription.pk}


def expire_sign_ups(*, now: datetime) -> int:
    """Delete unconfirmed sign-ups and their unreferenced addresses.

    People who left before are unsubscribed again. Imported rows stay, as nobody was asked.
    """
    SignUpCode.objects.filter(expires_at__lt=now - CODES_FOR).delete()
    before = now - timedelta(hours=settings.CONFIRM_HOURS) - KEPT_AFTER_EXPIRY
    asked_since = Consent.objects.filter(subscription=OuterRef("pk"), at__gte=before)
    waiting = Subscription.objects.filter(status=Subscription.Status.UNCONFIRMED).exclude(confirm_nonce="")
    expired = waiting.filter(~Exists(asked_since), added_at__lt=before).order_by("pk")
    total = 0
    while True:
        with transaction.atomic():
            rows = list(
                expired.select_for_update(skip_locked=True, of=("self",), no_key=False)[:EXPIRED_AT_ONCE]
            )
            if not rows:
                return total
            left = [row.pk for row in rows if row.left_at is not None]
            gone = [row for row in rows if row.left_at is None]
            Subscription.objects.filter(pk__in=left).update(
                status=Subscription.Status.UNSUBSCRIBED, confirm_nonce="", asked_name=""
            )
            Subscription.objects.filter(pk__in=[row.pk for row in gone]).delete()
            drop_unused({row.destination_id for row in gone})
        total += len(rows)


def drop_unused(addresses: Collection[int]) -> None:
    # A disabled address records that mail does not arrive.
    unused = Destination.objects.filter(pk__in=addresses, subscriptions=None, disabled_at=None)
    waiting = AddressChange.objects.filter(Q(old=OuterRef("pk")) | Q(new=OuterRef("pk")))
    candidates = list(unused.filter(~Exists(waiting)).values_list("pk", flat=True))
    kept = {key for needs in needed_destinations for key in needs(candidates)}
    Destination.objects.filter(pk__in=set(candidates) - kept).delete()
