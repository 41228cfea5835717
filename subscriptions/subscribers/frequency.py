from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext

from common.ports.events import Event, EventKind, emit
from common.refused import Refused
from subscriptions.collections.assign import lock_for_membership, numbered
from subscriptions.models import (
    KEPT,
    Assignable,
    Assignment,
    Consent,
    FrequencyChange,
    Subscribable,
    Subscription,
)
from subscriptions.rules.origin import How, Origin
from subscriptions.rules.switches import Bound, bound_of, is_nested, is_rarer, rarity
from subscriptions.subscribers.consent import consent, record_consents
from subscriptions.subscribers.series import carry_series
from subscriptions.subscribers.sign_up import is_open

MOST_SIBLINGS = 20
CONFIRMED, LEFT = Subscription.Status.CONFIRMED, Subscription.Status.UNSUBSCRIBED
MANAGED = Origin(How.MANAGE)
SWITCHED = {"how": "switched"}
CARRIED = ("display_name", "language", "confirmed_at", "paused_until")


def siblings(newsletter: Subscribable, *, now: datetime) -> list[Subscribable]:
    """Return open siblings, the rarest last."""
    rows = Subscribable.objects.listed().siblings_of(newsletter).filter(sign_up=Subscribable.SignUp.OPEN)
    newsletters = [one for one in rows.order_by("title", "name")[:MOST_SIBLINGS] if is_open(one)]
    return sorted(newsletters, key=lambda one: rarity(one.rhythm, now))


def rarer_siblings(newsletter: Subscribable, *, now: datetime) -> list[Subscribable]:
    mine = newsletter.rhythm
    return [one for one in siblings(newsletter, now=now) if is_rarer(one.rhythm, mine, now)]


def plan_switch(*, old: Subscribable, new: Subscribable, now: datetime) -> tuple[Bound, Subscribable, bool]:
    """Return the bound, the rarer newsletter, and whether no post is repeated."""
    mine, other = old.rhythm, new.rhythm
    rarer, often = (new, mine) if is_rarer(other, mine, now) else (old, other)
    collections = Assignable.objects.filter(subscribable=rarer).annotate(held=KEPT)
    rows = list(collections.values_list("within_type_id", "period_end", "held"))
    bound = bound_of(
        rarer.rhythm,
        now=now,
        open_ends=[end for _, end, _ in rows if end is not None],
        counter=rarer.counter,
        held=sum(held for name, _, held in rows if name == numbered(rarer.counter)),
    )
    return bound, rarer, is_nested(bound, often)


def cost_of_now(*, old: Subscribable, new: Subscribable) -> dict[str, int]:
    olds, news = _held(old), _held(new)
    return {"skipped": len(olds - news), "repeated": len(news - olds)}


def _held(newsletter: Subscribable) -> set[int]:
    rows = Assignment.objects.kept().filter(assignable__subscribable=newsletter)
    return set(rows.values_list("item", flat=True))


class CannotSwitch(Refused):
    """The message is for the reader."""


def switch_ending(subscription: Subscription) -> FrequencyChange | None:
    return _under_way().filter(old=subscription).first()


def switch_beginning(subscription: Subscription) -> FrequencyChange | None:
    return _under_way().filter(new=subscription, was_there=False).first()


def is_over(switch: FrequencyChange, now: datetime) -> bool:
    """Return whether the bound has passed. Then it cannot be undone."""
    return switch.at <= now if switch.at is not None else switch.rarer.counter > (switch.number or 0)


def still_to_come(switch: FrequencyChange) -> int:
    """Return how many posts an every-n switch still needs."""
    rows = Assignable.objects.filter(subscribable=switch.rarer, within_type_id=numbered(switch.number or 0))
    held = rows.annotate(held=KEPT).values_list("capacity", "held").first()
    return max((held[0] or 1) - held[1], 0) if held else 0


@transaction.atomic
def switch(
    *,
    subscription: Subscription,
    to: Subscribable,
    now: datetime,
    at_once: bool = False,
    origin: Origin = MANAGED,
) -> FrequencyChange:
    """Switch after the rarer newsletter's current collection, or at once. Raises CannotSwitch.

    The new subscription is confirmed immediately. A pending switch is undone first.
    """
    if subscription.is_beside or to not in siblings(subscription.subscribable, now=now):
        raise CannotSwitch(gettext("You can no longer change to that newsletter."))
    _lock_counting(subscription, to)
    old = _locked(subscription)
    if (earlier := switch_ending(old)) is not None:
        _undo(earlier, now)
    bound, rarer, _ = plan_switch(old=old.subscribable, new=Subscribable.objects.get(pk=to.pk), now=now)
    new, was_there = _subscription_to(old, to, now)
    made = FrequencyChange.objects.create(
        old=old, new=new, rarer=rarer, at=bound.at, number=bound.number, was_there=was_there, made_at=now
    )
    # Only for display: the switch decides what is sent.
    Subscription.objects.filter(pk=old.pk).update(receives_until=made.at)
    if not was_there:
        Subscription.objects.filter(pk=new.pk).update(receives_from=made.at)
    # Earlier proof applies to the new one too.
    there = set(new.consents.values_list("act", "at"))
    proofs = [
        Consent(subscription=new, act=one.act, at=one.at, how=one.how, words=one.words, ip=one.ip)
        for one in old.consents.all()
        if (one.act, one.at) not in there
    ]
    record_consents([*proofs, consent(new, Consent.Act.SWITCHED, origin, at=now)])
    if at_once:
        apply_switches(switches=[made], now=now)
    return made


@transaction.atomic
def undo_switch(*, subscription: Subscription, now: datetime) -> bool:
    """Return False without a pending switch. Raises CannotSwitch if it has taken effect."""
    _lock_counting(subscription)
    made = switch_ending(_locked(subscription))
    if made is None:
        return False
    _undo(made, now)
    return True


@transaction.atomic
def apply_switches(*, switches: Sequence[FrequencyChange], now: datetime) -> int:
    """End the old subscriptions, except for mail in transit.

    If the new one was left meanwhile, the old one stays and the switch is deleted.
    """
    keys = {key for one in switches for key in (one.old_id, one.new_id)}
    both = Subscription.objects.filter(pk__in=keys).order_by("pk").select_for_update(no_key=True)
    list(both.values_list("pk"))
    rows = FrequencyChange.objects.filter(pk__in=[one.pk for one in switches], settled_at=None)
    done = list(rows.filter(new__status=CONFIRMED).values_list("pk", "old", "new"))
    olds = Subscription.objects.filter(pk__in=[old for _, old, _ in done])
    ended = tuple(olds.filter(status=CONFIRMED).values_list("pk", flat=True))
    olds.update(receives_until=None)
    olds.filter(pk__in=ended).update(ended_at=now)
    Subscription.objects.filter(pk__in=[new for _, _, new in done]).update(receives_from=None)
    rows.filter(pk__in=[pk for pk, _, _ in done]).update(settled_at=now)
    # A series that was begun continues.
    carry_series({old: new for _, old, new in done})
    # Unless the reader may still undo leaving, both have ended for good.
    vain = rows.exclude(new__status=CONFIRMED).exclude(new__undo_until__gt=now)
    Subscription.objects.filter(switches_away__in=vain).update(receives_until=None)
    vain.delete()
    emit(Event(EventKind.LEFT, ended, now, SWITCHED))
    return len(done)


def _lock_counting(subscription: Subscription, *others: Subscribable) -> None:
    """Lock every-n newsletters, to keep their count. Calendars change nothing before their time."""
    earlier = switch_ending(subscription)
    keys = {subscription.subscribable_id, *(one.pk for one in others)} | (
        {earlier.rarer_id} if earlier else set()
    )
    every_n = Subscribable.Arrangement.EVERY_N
    lock_for_membership(Subscribable.objects.filter(pk__in=keys, arrangement=every_n))


def _locked(subscription: Subscription) -> Subscription:
    rows = Subscription.objects.select_related("subscribable", "destination")
    current = rows.select_for_update(of=("self",), no_key=True).filter(pk=subscription.pk).first()
    if current is None or current.status != CONFIRMED or current.ended_at is not None:
        raise CannotSwitch(gettext("Only a subscription that you receive can be changed."))
    if switch_beginning(current) is not None:
        raise CannotSwitch(
            gettext("Your subscription has only just begun. Please change it after its first issue.")
        )
    return current


def _undo(made: FrequencyChange, now: datetime) -> None:
    if is_over(made, now):
        raise CannotSwitch(gettext("Your last change is just taking effect. Please try again later."))
    Subscription.objects.filter(pk=made.old_id).update(receives_until=None)
    new, is_wanted = made.new, FrequencyChange.objects.filter(new=made.new).exclude(pk=made.pk).exists()
    made.delete()
    if made.was_there or is_wanted:
        return
    emit(Event(EventKind.LEFT, (new.pk,), now, SWITCHED))
    if new.added_at == made.made_at:
        new.delete()
    else:
        back = {"status": LEFT, "left_at": now, "receives_from": None}
        Subscription.objects.filter(pk=new.pk).update(**back)


def _subscription_to(old: Subscription, to: Subscribable, now: datetime) -> tuple[Subscription, bool]:
    facts = {**{name: getattr(old, name) for name in CARRIED}, "status": CONFIRMED}
    rows = Subscription.objects.select_for_update(no_key=True)
    new, is_made = rows.get_or_create(
        subscribable=to, destination=old.destination, defaults={**facts, "added_at": now}
    )
    if not is_made and new.status == CONFIRMED and new.ended_at is None:
        return new, True
    if not is_made:
        gone = {"left_at": None, "ended_at": None, "undo_until": None, "confirm_nonce": "", "asked_name": ""}
        for name, value in {**facts, **gone}.items():
            setattr(new, name, value)
        new.save()
    emit(Event(EventKind.CONFIRMED, (new.pk,), now, SWITCHED))
    return new, False


def _under_way() -> "QuerySet[FrequencyChange]":
    rows = FrequencyChange.objects.filter(settled_at=None)
    return rows.select_related("old__subscribable", "new__subscribable", "new__destination", "rarer")
