"""Forgets sign-ups that nobody confirmed, and counts that count no more."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from subscriptions.models import Consent, Destination, Subscription, Tally
from subscriptions.rules.limits import LONGEST

# Somebody who comes back from a holiday finds an old mail whose link says where to get a fresh one.
GRACE = timedelta(days=7)
BATCH = 500
# Counts may be asked for with a clock that is a little behind.
TALLIES_FOR = LONGEST * 2
# Of these destinations, the keys of those that a later app still needs.
kept_by: list[Callable[[Sequence[int]], set[int]]] = []


def expire(*, now: datetime) -> int:
    """Deletes what was never confirmed, with the addresses that nothing else refers to. Returns how many.

    Who had left before is as before the sign-up. What an admin's list brought was never asked, and stays.
    """
    return sum(_in_batches(lambda: _expire_batch(now)))


def forget_tallies(*, now: datetime) -> int:
    """Deletes counts that no limit looks at any more. Returns how many."""
    return sum(_in_batches(lambda: _forget_batch(now)))


def _in_batches(act: Callable[[], int]) -> Iterator[int]:
    while done := act():
        yield done


@transaction.atomic
def _expire_batch(now: datetime) -> int:
    rows = list(_expired(now).select_for_update(skip_locked=True, of=("self",), no_key=False)[:BATCH])
    left = [row.pk for row in rows if row.left_at is not None]
    gone = [row for row in rows if row.left_at is None]
    Subscription.objects.filter(pk__in=left).update(
        status=Subscription.Status.UNSUBSCRIBED, confirm_nonce="", asked_name=""
    )
    Subscription.objects.filter(pk__in=[row.pk for row in gone]).delete()
    _forget_destinations({row.destination_id for row in gone})
    return len(rows)


def _expired(now: datetime) -> "QuerySet[Subscription]":
    before = now - timedelta(hours=settings.CONFIRM_HOURS) - GRACE
    asked_since = Consent.objects.filter(subscription=OuterRef("pk"), at__gte=before)
    waiting = Subscription.objects.filter(status=Subscription.Status.UNCONFIRMED).exclude(confirm_nonce="")
    return waiting.filter(~Exists(asked_since), added_at__lt=before).order_by("pk")


def _forget_destinations(keys: Iterable[int]) -> None:
    """Those that nothing needs. (A disabled one is the memory that nothing arrives there.)"""
    unused = Destination.objects.filter(pk__in=keys, subscriptions=None, disabled_at=None)
    candidates = list(unused.values_list("pk", flat=True))
    kept = {key for needs in kept_by for key in needs(candidates)}
    Destination.objects.filter(pk__in=set(candidates) - kept).delete()


def _forget_batch(now: datetime) -> int:
    old = Tally.objects.filter(began_at__lt=now - TALLIES_FOR).values_list("pk", flat=True)
    return Tally.objects.filter(pk__in=list(old[: BATCH * 10])).delete()[0]
