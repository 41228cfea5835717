"""Newsletters over the same feeds that come at another pace, and what switching between two would mean."""

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from django.db.models import Count

from subscriptions.models import Assignable, Assignment, Subscribable
from subscriptions.rules.switching import Bound, Rhythm, bound_of, is_nested, is_rarer, rarity
from subscriptions.services.assigning import numbered
from subscriptions.services.schedules import schedule_of
from subscriptions.services.signing_up import is_open

MOST_SIBLINGS = 20


@dataclass(frozen=True, slots=True)
class Plan:
    """What a switch made now would mean: cut where, by which newsletter, and whether no post comes twice."""

    bound: Bound
    rarer: Subscribable
    is_nested: bool


@dataclass(frozen=True, slots=True)
class Cost:
    """How many posts a switch at once would keep from the reader, and how many would come twice."""

    skipped: int
    repeated: int


def siblings(newsletter: Subscribable, *, now: datetime) -> list[Subscribable]:
    """Those of the same feeds and channel that readers may see and sign up to, the rarest last."""
    rows = Subscribable.objects.listed().siblings_of(newsletter).filter(sign_up=Subscribable.SignUp.OPEN)
    found = [one for one in rows.order_by("title", "name")[:MOST_SIBLINGS] if is_open(one)]
    return sorted(found, key=lambda one: rarity(rhythm_of(one), now))


def rarer_siblings(newsletter: Subscribable, *, now: datetime) -> list[Subscribable]:
    """Those that come less often."""
    mine = rhythm_of(newsletter)
    return [one for one in siblings(newsletter, now=now) if is_rarer(rhythm_of(one), mine, now)]


def rhythm_of(newsletter: Subscribable) -> Rhythm:
    return Rhythm(schedule_of(newsletter), ZoneInfo(newsletter.time_zone), newsletter.n)


def plan(*, old: Subscribable, new: Subscribable, now: datetime) -> Plan:
    mine, other = rhythm_of(old), rhythm_of(new)
    rarer, often = (new, mine) if is_rarer(other, mine, now) else (old, other)
    bound = _bound(rarer, now)
    return Plan(bound, rarer, is_nested(bound, often))


def cost_of_now(*, old: Subscribable, new: Subscribable) -> Cost:
    """By what both are collecting at this moment."""
    olds, news = _held(old), _held(new)
    return Cost(skipped=len(olds - news), repeated=len(news - olds))


def _bound(rarer: Subscribable, now: datetime) -> Bound:
    collections = Assignable.objects.filter(subscribable=rarer).annotate(held=Count("assignments"))
    rows = list(collections.values_list("within_type_id", "period_end", "held"))
    return bound_of(
        rhythm_of(rarer),
        now=now,
        open_ends=[end for _, end, _ in rows if end is not None],
        counter=rarer.counter,
        held=sum(held for name, _, held in rows if name == numbered(rarer.counter)),
    )


def _held(newsletter: Subscribable) -> set[int]:
    rows = Assignment.objects.filter(assignable__subscribable=newsletter)
    return set(rows.values_list("item", flat=True))
