"""Decides what a subscriber in a series gets next, and when."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from subscriptions.rules.schedule import first_instant, wall

MOST_EMAILS = 100
LONGEST_WAIT = 365
# When to look again for what nobody can foresee.
LOOK_AGAIN = timedelta(hours=1)
LONGEST_LOOK = timedelta(days=1)
BLOCKED_LOOK = timedelta(days=7)


class Last(StrEnum):
    """The email before: on its way, cancelled because the subscriber was away, or over (or there is none)."""

    GOING = "going"
    OVER = "over"
    MISSED = "missed"


class Act(StrEnum):
    SEND = "send"
    # The last email, which was cancelled.
    REPEAT = "repeat"
    WAIT = "wait"
    # Until they come back.
    PARK = "park"
    END = "end"


@dataclass(frozen=True, slots=True)
class Step:
    """An email that is switched on, `days` after the one before. `item`: of the archive's post, or 0."""

    key: int
    days: int
    is_paused: bool = False
    item: int = 0


@dataclass(frozen=True, slots=True)
class RunFacts:
    """`since`: when the last email was sent, or the beginning. `sent`: keys of emails; `had`: other items.

    `back_by`: until then, somebody who left may come back by one click.
    """

    since: datetime
    sent: Collection[int]
    had: Collection[int]
    last: Last
    zone: ZoneInfo
    at: time
    is_confirmed: bool = True
    is_blocked: bool = False
    paused_until: datetime | None = None
    back_by: datetime | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    act: Act
    at: datetime | None = None
    step: Step | None = None


def sends_at(
    since: datetime, days: int, *, at: time, zone: ZoneInfo, not_before: datetime | None = None
) -> datetime:
    """Return `at` on the subscriber's clock, `days` after the day of `since`, and after `not_before`."""
    day = wall(since, zone).date() + timedelta(days=days)
    moment = first_instant(datetime.combine(day, at), zone)
    while not_before is not None and moment < not_before:
        day = max(day + timedelta(days=1), wall(not_before, zone).date())
        moment = first_instant(datetime.combine(day, at), zone)
    return moment


def next_step(steps: Sequence[Step], run: RunFacts) -> Step | None:
    """Return the first email, in the present order, that they don't have."""
    return next((each for each in steps if each.key not in run.sent and each.item not in run.had), None)


def due_at(step: Step, run: RunFacts) -> datetime:
    """Return when it is sent. One without days, as the first email, is sent at once."""
    if not step.days:
        return max(run.since, run.paused_until or run.since)
    return sends_at(run.since, step.days, at=run.at, zone=run.zone, not_before=run.paused_until)


def decide(run: RunFacts, steps: Sequence[Step], now: datetime) -> Decision:
    if not run.is_confirmed:
        is_away = run.back_by is None or run.back_by <= now
        return Decision(Act.PARK) if is_away else Decision(Act.WAIT, run.back_by)
    if run.is_blocked:
        return Decision(Act.WAIT, now + BLOCKED_LOOK)
    if run.last is Last.GOING:
        return Decision(Act.WAIT, now + LOOK_AGAIN)
    paused = run.paused_until is not None and run.paused_until > now
    if run.last is Last.MISSED and not paused:
        return Decision(Act.REPEAT, now + LOOK_AGAIN)
    step = next_step(steps, run)
    if step is None and run.last is not Last.MISSED:
        return Decision(Act.END)
    if step is None or step.is_paused:
        return Decision(Act.WAIT, now + LOOK_AGAIN)
    moment = due_at(step, run)
    if paused or moment > now:
        # So that somebody who resumes earlier doesn't wait long.
        limit = now + LONGEST_LOOK if paused else moment
        return Decision(Act.WAIT, min(moment, limit) if moment > now else limit, step)
    return Decision(Act.SEND, step=step)


def decide_restored(run: RunFacts, steps: Sequence[Step], restored_at: datetime, now: datetime) -> Decision:
    """Decide while a restored backup waits for a person: queue only what was due before it.

    Those emails may have been sent since the backup, a few to each, so nobody waits for the one before, or
    for the end of a pause.
    """
    last = Last.OVER if run.last is Last.GOING else run.last
    decision = decide(replace(run, last=last, paused_until=None), steps, restored_at)
    match decision.act:
        case Act.SEND | Act.PARK:
            return decision
        case Act.REPEAT:
            return replace(decision, at=now)
    return Decision(Act.WAIT, now + LOOK_AGAIN)


def course(steps: Sequence[Step], begun_at: datetime, *, at: time, zone: ZoneInfo) -> list[datetime]:
    """Return when somebody who begins then gets each email."""
    moments, since = [], begun_at
    for step in steps:
        since = sends_at(since, step.days, at=at, zone=zone) if step.days else since
        moments.append(since)
    return moments
