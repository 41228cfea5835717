"""What an admin does to many subscribers at once: some statements, however many they are. Mails no one."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Case, Count, F, Q, QuerySet, When

from common.db.bulk import insert_rows
from common.ports.events import Event, EventKind, emit
from subscriptions.models import Consent, Notice, Subscribable, Subscription, Switch
from subscriptions.rules.origin import How
from subscriptions.subscribers.leave import leave

Status = Subscription.Status
# Rows to a statement: what is locked, and told of, at once.
TOGETHER = 5000


def _parts(keys: Iterable[int]) -> Iterator[frozenset[int]]:
    ordered = sorted(keys)
    for start in range(0, len(ordered), TOGETHER):
        yield frozenset(ordered[start : start + TOGETHER])


def _locked(keys: frozenset[int], **status: str) -> list[int]:
    rows = Subscription.objects.filter(pk__any_of=keys, **status)
    locked = rows.select_for_update(of=("self",), no_key=True).order_by("pk")
    return list(locked.values_list("pk", flat=True))


def confirm_many(*, keys: Iterable[int], now: datetime) -> int:
    """By an admin's word, those that wait for confirmation. Returns how many."""
    return sum(_confirm(part, now) for part in _parts(keys))


@transaction.atomic
def _confirm(keys: frozenset[int], now: datetime) -> int:
    waiting = _locked(keys, status=Status.UNCONFIRMED)
    name = Case(When(asked_name="", then=F("display_name")), default=F("asked_name"))
    Subscription.objects.filter(pk__any_of=frozenset(waiting)).update(
        status=Status.CONFIRMED,
        confirmed_at=now,
        left_at=None,
        confirm_nonce="",
        display_name=name,
        asked_name="",
    )
    _prove(waiting, Consent.Act.ADDED, now)
    emit(Event(EventKind.CONFIRMED, tuple(waiting), now))
    return len(waiting)


def _prove(keys: Sequence[int], act: Consent.Act, now: datetime) -> None:
    if keys:
        count = len(keys)
        columns = {"subscription": keys, "act": [act.value] * count, "at": [now] * count}
        insert_rows(Consent, {**columns, "how": [How.ADMIN.value] * count})


def unsubscribe_many(*, keys: Iterable[int], now: datetime) -> int:
    """Ends those that have not ended, and the confirmations under way with them. Returns how many."""
    return sum(end(part, now=now) for part in _parts(keys))


@transaction.atomic
def end(keys: frozenset[int], *, now: datetime, tell: bool = True) -> int:
    """The same for a number that one statement can take; an import tells nobody."""
    rows = Subscription.objects.filter(pk__any_of=keys).exclude(status=Status.UNSUBSCRIBED)
    locked = rows.select_for_update(of=("self",), no_key=True).order_by("pk")
    going = list(locked.values_list("pk", flat=True))
    switching = _ever_switched(frozenset(going))
    for subscription in Subscription.objects.filter(pk__any_of=switching).order_by("pk"):
        leave(subscription=subscription, now=now)
    plain = frozenset(going) - switching
    Subscription.objects.filter(pk__any_of=plain).update(
        status=Status.UNSUBSCRIBED, left_at=now, undo_until=None, confirm_nonce="", asked_name=""
    )
    Notice.objects.filter(subscription__pk__any_of=plain).delete()
    if tell:
        emit(Event(EventKind.LEFT, tuple(sorted(plain)), now))
    return len(going)


def _ever_switched(keys: frozenset[int]) -> frozenset[int]:
    """Those whose frequency was changed: what they lead to ends with them."""
    rows = Switch.objects.filter(Q(old__pk__any_of=keys) | Q(new__pk__any_of=keys))
    return keys & {key for pair in rows.values_list("old", "new") for key in pair}


@dataclass(frozen=True, slots=True)
class Target:
    """A newsletter that some may move to: how many would, and how many are there already."""

    subscribable: Subscribable
    moving: int
    there: int


def movable(keys: Iterable[int]) -> "QuerySet[Subscription]":
    """Those who get something: who left, never confirmed, or is just changing stays where they are."""
    changing = Switch.objects.filter(settled_at=None)
    rows = Subscription.objects.confirmed().filter(pk__any_of=frozenset(keys))
    return rows.exclude(pk__in=changing.values("old")).exclude(pk__in=changing.values("new"))


def targets(keys: Iterable[int]) -> list[Target]:
    """The newsletters that any of them may move to, each with what that would do. Three questions."""
    chosen = movable(keys)
    people = Count("destination", distinct=True)
    by_channel = dict(chosen.order_by().values_list("subscribable__channel").annotate(n=people))
    same = Subscription.objects.filter(destination__in=chosen.values("destination")).order_by()
    there = dict(same.values_list("subscribable").annotate(n=people))
    rows = Subscribable.objects.filter(channel__in=by_channel).order_by("name")
    found = [(row, there.get(row.pk, 0), by_channel[row.channel]) for row in rows]
    return [Target(row, every - known, known) for row, known, every in found if every > known]


def move_many(*, keys: Iterable[int], target: Subscribable, now: datetime) -> int:
    """To another newsletter of the same channel, with name, dates, proof of consent and links as they are.

    Who is there already, whatever their status, stays where they are. Returns how many moved.
    """
    return sum(_move(part, target) for part in _parts(keys))


@transaction.atomic
def _move(keys: frozenset[int], target: Subscribable) -> int:
    # Nobody signs up there meanwhile: that would make somebody subscribed twice.
    Subscribable.objects.select_for_update().get(pk=target.pk)
    there = Subscription.objects.filter(subscribable=target).values("destination")
    same_channel = Q(subscribable__channel=target.channel) & ~Q(subscribable=target)
    rows = movable(keys).filter(same_channel).exclude(destination__in=there)
    locked = rows.select_for_update(of=("self",), no_key=True).order_by("pk")
    found = list(locked.values_list("pk", "destination_id"))
    # Of somebody with two of the newsletters chosen, the first moves.
    first = {destination: pk for pk, destination in reversed(found)}
    moving = Subscription.objects.filter(pk__any_of=frozenset(first.values()))
    return moving.update(subscribable=target, receives_from=None, receives_until=None)
