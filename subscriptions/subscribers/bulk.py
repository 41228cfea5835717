"""Changes of many subscribers. Mails nobody."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Case, Count, F, Q, QuerySet, When

from common.db.bulk import batched, insert_rows
from common.ports.events import Event, EventKind, emit
from subscriptions.models import Consent, FrequencyChange, Notice, Subscribable, Subscription
from subscriptions.rules.origin import How
from subscriptions.subscribers.leave import leave

# Rows per transaction.
TOGETHER = 5000


def _parts(keys: Iterable[int]) -> Iterator[frozenset[int]]:
    return map(frozenset, batched(sorted(keys), TOGETHER))


def _locked(rows: "QuerySet[Subscription]") -> list[int]:
    return list(rows.select_for_update(of=("self",), no_key=True).order_by("pk").values_list("pk", flat=True))


def confirm_many(*, keys: Iterable[int], now: datetime) -> int:
    """Confirm on an admin's word."""
    total = 0
    for part in _parts(keys):
        with transaction.atomic():
            unconfirmed = Subscription.Status.UNCONFIRMED
            waiting = _locked(Subscription.objects.filter(pk__any_of=part, status=unconfirmed))
            name = Case(When(asked_name="", then=F("display_name")), default=F("asked_name"))
            Subscription.objects.filter(pk__any_of=frozenset(waiting)).update(
                status=Subscription.Status.CONFIRMED,
                confirmed_at=now,
                left_at=None,
                confirm_nonce="",
                display_name=name,
                asked_name="",
            )
            if waiting:
                proof = {"act": Consent.Act.ADDED.value, "at": now, "how": How.ADMIN.value}
                columns = {column: [value] * len(waiting) for column, value in proof.items()}
                insert_rows(Consent, {"subscription": waiting, **columns})
            emit(Event(EventKind.CONFIRMED, tuple(waiting), now))
        total += len(waiting)
    return total


def unsubscribe_many(*, keys: Iterable[int], now: datetime) -> int:
    return sum(end_subscriptions(part, now=now) for part in _parts(keys))


@transaction.atomic
def end_subscriptions(keys: frozenset[int], *, now: datetime, tell: bool = True) -> int:
    """End up to TOGETHER subscriptions. Imports emit no events."""
    left = Subscription.Status.UNSUBSCRIBED
    going = _locked(Subscription.objects.filter(pk__any_of=keys).exclude(status=left))
    among = frozenset(going)
    # A switch has more subscriptions to end.
    switches = FrequencyChange.objects.filter(Q(old__pk__any_of=among) | Q(new__pk__any_of=among))
    switching = among & {key for pair in switches.values_list("old", "new") for key in pair}
    for subscription in Subscription.objects.filter(pk__any_of=switching).order_by("pk"):
        leave(subscription=subscription, now=now)
    plain = among - switching
    Subscription.objects.filter(pk__any_of=plain).update(
        status=left, left_at=now, undo_until=None, confirm_nonce="", asked_name=""
    )
    Notice.objects.filter(subscription__pk__any_of=plain).delete()
    if tell:
        emit(Event(EventKind.LEFT, tuple(sorted(plain)), now))
    return len(going)


@dataclass(frozen=True, slots=True)
class Target:
    subscribable: Subscribable
    moving: int
    there: int


def movable(keys: Iterable[int]) -> "QuerySet[Subscription]":
    """Return received subscriptions that are not being switched."""
    changing = FrequencyChange.objects.filter(settled_at=None)
    rows = Subscription.objects.confirmed().filter(pk__any_of=frozenset(keys))
    return rows.exclude(pk__in=changing.values("old")).exclude(pk__in=changing.values("new"))


def targets(keys: Iterable[int]) -> list[Target]:
    """Takes three queries."""
    chosen = movable(keys)
    people = Count("destination", distinct=True)
    by_channel = dict(chosen.order_by().values_list("subscribable__channel").annotate(n=people))
    same = Subscription.objects.filter(destination__in=chosen.values("destination")).order_by()
    there = dict(same.values_list("subscribable").annotate(n=people))
    rows = Subscribable.objects.filter(channel__in=by_channel).order_by("name")
    counts = [(row, there.get(row.pk, 0), by_channel[row.channel]) for row in rows]
    return [Target(row, every - known, known) for row, known, every in counts if every > known]


def move_many(*, keys: Iterable[int], target: Subscribable, now: datetime) -> int:
    """Move subscriptions within the channel, with consent and links.

    People with any subscription to the target are not moved.
    """
    total = 0
    for part in _parts(keys):
        with transaction.atomic():
            # A concurrent sign-up would make a duplicate.
            Subscribable.objects.select_for_update().get(pk=target.pk)
            there = Subscription.objects.filter(subscribable=target).values("destination")
            same_channel = Q(subscribable__channel=target.channel) & ~Q(subscribable=target)
            rows = movable(part).filter(same_channel).exclude(destination__in=there)
            locked = rows.select_for_update(of=("self",), no_key=True).order_by("pk")
            pairs = list(locked.values_list("pk", "destination_id"))
            # Of one person's newsletters, the first moves.
            first = {destination: pk for pk, destination in reversed(pairs)}
            moving = Subscription.objects.filter(pk__any_of=frozenset(first.values()))
            total += moving.update(subscribable=target, receives_from=None, receives_until=None)
    return total
