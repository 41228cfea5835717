"""Claim deliveries; renew, return and reap their leases.

A delivery whose worker died is due again or held, by its channel's crash policy. After a
restore from a backup, which does not know what was sent since, claims hold due rows (`waits_for_go`), even of
open collections, until a person decides.
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Count, F, Max, Min, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.timezone import localtime

from channels import CHANNELS, channel
from channels.base import CrashPolicy
from common.counters import count
from common.db.leases import RELEASED, lease
from common.db.outage import note_outage, was_away_lately
from common.db.prepared import AnyRows
from common.passes import TimeBudget
from common.ports.registries import holds
from common.refused import Refused
from delivery.engine.send_task import ClaimedDelivery, read_claimed
from delivery.lanes import limits
from delivery.lanes.lanes import resting_kinds, take_turn
from delivery.lanes.limits import within_day
from delivery.models import Attempt, Delivery, Issue, Lane, Restore
from delivery.models.delivery import PENDING_STATES, WAITING
from delivery.rules.limits import EXPECTED_RATE, HEAD_WAITS, Queued, serial_next
from delivery.rules.outcomes import after_crash, cancel_reason, when_unsure
from feeds.items.held import hold_all
from subscriptions.models import Subscribable, Suppression

DELIVERY_LEASE = timedelta(seconds=65)
# A pass may wait for a lane whose rest is this short.
SHORT_WAIT = timedelta(seconds=2)
SERIAL_QUEUE = 50
MOST_AT_ONCE = 2000
# More than this is worth a child process.
MUCH = 1000
HELD_BY_CLAIM = {"pause": "Its issue or newsletter is paused.", "domain": "Its domain is paused."}
DROPPED = "The issue was cancelled."
log = logging.getLogger(__name__)

REAPED_A_BATCH = 500
LOST_WORDS = "The worker that was sending this ended before it could report the result."
RESTORED_A_BATCH = 2_000
HELD_ROWS = Q(state=Delivery.State.HELD, held_for=Delivery.HeldFor.RESTORE)
HELD_BY_RESTORE = "A backup was restored: it may have been sent before that."
# A held row has these, in no other state.
HOLDING = {"state": Delivery.State.HELD, "held_for": Delivery.HeldFor.RESTORE, "last_error": HELD_BY_RESTORE}
_EXPIRED = AnyRows(lambda now: (Delivery.objects.expired(now),))


@dataclass(frozen=True, slots=True)
class Claim:
    """Leased deliveries. Without any, `again_at` says when to ask again."""

    rows: tuple[ClaimedDelivery, ...] = ()
    again_at: datetime | None = None


def with_due(now: datetime) -> "QuerySet[Lane]":
    due = Delivery.objects.due(now).filter(lane=OuterRef("pk"))
    soon = now + SHORT_WAIT
    ready = Q(free_at=None) | Q(free_at__lte=soon)
    may = Q(parent=None) | (
        Q(parent__paused=False) & (Q(parent__free_at=None) | Q(parent__free_at__lte=soon))
    )
    kinds = set(CHANNELS).difference(resting_kinds(now))
    lanes = Lane.objects.filter(ready, may, paused=False, kind__in=kinds)
    # One row per lane: PostgreSQL turns EXISTS into a join over all due rows.
    one = due.order_by("priority", "due_at", "pk").values("pk")[:1]
    return lanes.annotate(one_due=Subquery(one)).filter(one_due__isnull=False)


def has_urgent(lane: Lane, now: datetime) -> bool:
    return Delivery.objects.due(now).filter(lane=lane, priority__lt=Delivery.Priority.ISSUE).exists()


def has_much(lane: Lane, now: datetime) -> bool:
    return Delivery.objects.due(now).filter(lane=lane)[MUCH : MUCH + 1].exists()


class _Due(NamedTuple):
    pk: int
    domain: str
    priority: int
    issue: int | None = None
    destination: int = 0


@transaction.atomic
def claim_due(
    *,
    lane_id: int,
    now: datetime,
    in_flight: int,
    urgent: bool = False,
    connections: int | None = None,
    expected: float = EXPECTED_RATE,
) -> Claim:
    """Claim for a worker with this many connections of `expected` messages per second each.

    With `urgent`, claim only what precedes letters. Returns nothing while another worker claims from the
    lane.
    """
    # NO KEY: publishing holds KEY SHARE on the lane and would block all sending.
    lanes = Lane.objects.select_for_update(skip_locked=True, no_key=True)
    lane = lanes.filter(pk=lane_id).first()
    if lane is None:
        return Claim()
    most, again_at = limits.room(lane, now, in_flight=in_flight, connections=connections, expected=expected)
    if most and lane.parent_id is not None:
        # Always locked after the lane's own row. Only one lane of an account claims at a time.
        lane.parent = Lane.objects.select_for_update(no_key=True).get(pk=lane.parent_id)
        most, again_at = limits.within_limits(lane.parent, most, now)
    if not most:
        return Claim(again_at=again_at)
    if (turn_at := take_turn(lane.kind, now)) is not None:
        return Claim(again_at=turn_at)
    if lane.serial:
        seen = _head_of(lane, now)
    else:
        due = Delivery.objects.due(now).filter(lane=lane).order_by("priority", "due_at", "pk")
        if urgent:
            due = due.filter(priority__lt=Delivery.Priority.ISSUE)
        seen = _first_of_each(lane, due, min(most, MOST_AT_ONCE))
    if not seen:
        return Claim()
    if (restore := is_open()) is not None:
        hold_back(restore=restore, pks=[one.pk for one in seen])
    # Their domains allow some now. The others are deferred or held.
    first = {one.pk for one in seen if one.priority < Delivery.Priority.ISSUE}
    take, later, hold = limits.sift(lane, [(one.pk, one.domain) for one in seen], now, urgent=first)
    for pks, due_at in later:
        Delivery.objects.waiting().filter(pk__in=pks).update(due_at=due_at)
    if hold:
        why = Delivery.HeldFor.DOMAIN
        held = Delivery.objects.waiting().filter(pk__in=hold)
        held.update(state=Delivery.State.HELD, held_for=why, last_error=HELD_BY_CLAIM[why.value])
    take = within_day(lane, take, now)
    rows = _lease_wanted(lane, take, now) if take else []
    limits.use(lane, Counter(row.domain for row in rows), now)
    return Claim(tuple(rows)) if rows else Claim(again_at=now)


def _first_of_each(lane: Lane, due: "QuerySet[Delivery]", most: int) -> list[_Due]:
    """Return the first due row per recipient, of one issue each: several connections keep no order."""
    values = due.values_list("pk", "domain", "priority", "issue_id", "destination_id")
    seen = [_Due._make(row) for row in values[:most]]
    issues = {row.issue for row in seen if row.issue is not None}
    if not issues:
        return seen
    under_way = Delivery.objects.filter(lane=lane, state=Delivery.State.SENDING, issue__isnull=False)
    if len(issues) == 1:
        # Nearly always true: an issue goes once to each recipient.
        under_way = under_way.exclude(issue__in=issues)
    waits_for = set(under_way.values_list("destination_id", flat=True))
    if not waits_for.isdisjoint(row.destination for row in seen):
        values = values.exclude(issue__isnull=False, destination__in=waits_for)
        seen = [_Due._make(row) for row in values[:most]]
    earliest: dict[int, int] = {}
    for row in seen:
        if row.issue is not None:
            earliest[row.destination] = min(row.pk, earliest.get(row.destination, row.pk))
    return [row for row in seen if row.issue is None or row.pk == earliest[row.destination]]


def _head_of(lane: Lane, now: datetime) -> list[_Due]:
    if Delivery.objects.filter(lane=lane, state=Delivery.State.SENDING).exists():
        return []
    # Old rows that are not due hold nobody back, so they must not fill the window.
    counts = Q(due_at__lte=now) | Q(created_at__gt=now - HEAD_WAITS)
    waiting = Delivery.objects.waiting().filter(counts, lane=lane).order_by("priority", "pk")
    rows = waiting.values_list("pk", "state", "due_at", "created_at")[:SERIAL_QUEUE]
    head = serial_next([Queued(*row) for row in rows], now)
    return [] if head is None else [_Due(head, "", Delivery.Priority.ISSUE)]


def _lease_wanted(lane: Lane, pks: Sequence[int], now: datetime) -> list[ClaimedDelivery]:
    """Lease the rows, then check recipients and issues again and cancel or hold what must not go out."""
    token, leased_until = lease(now, DELIVERY_LEASE)
    rows = read_claimed(lane, pks, token=token, now=now)
    # The lane's lock excludes other claims.
    taken = Delivery.objects.waiting().filter(pk__any_of=frozenset(pks), due_at__lte=now)
    changes = {"lease_token": token, "lease_until": leased_until, "begun_at": Coalesce(F("begun_at"), now)}
    if taken.update(state=Delivery.State.SENDING, **changes) != len(rows):
        mine = Delivery.objects.filter(pk__any_of=frozenset(pks), lease_token=token)
        got = set(mine.values_list("pk", flat=True))
        rows = [row for row in rows if row.pk in got]
    cores = frozenset(row.destination.core for row in rows)
    suppressed = set(Suppression.objects.filter(core__any_of=cores).values_list("kind", "core"))
    issues = Issue.objects.filter(pk__in={row.issue_id for row in rows if row.issue_id}).order_by()
    is_paused = Q(paused_at__isnull=False) | Q(subscribable__sending_paused_at__isnull=False)
    unusual = issues.filter(is_paused | Q(cancelled_at__isnull=False) | Q(version__gt=0))
    stopped, is_edited = dict[int, str](), False
    for pk, version, dropped, *pauses in unusual.values_list(
        "pk", "version", "cancelled_at", "paused_at", "subscribable__sending_paused_at"
    ):
        is_edited |= version > 0
        if dropped or any(pauses):
            stopped[pk] = DROPPED if dropped else Delivery.HeldFor.PAUSE.value
    if is_edited:
        # Perhaps since the rows were read. With the lease a version stays.
        mine = Delivery.objects.filter(pk__any_of=frozenset(pks), lease_token=token)
        versions = dict(mine.values_list("pk", "version"))
        rows = [row._replace(version=versions[row.pk]) for row in rows]
    wanted: list[ClaimedDelivery] = []
    unwanted: dict[tuple[str, str, str, datetime | None], list[int]] = defaultdict(list)
    for row in rows:
        why = stopped.get(row.issue_id, "") if row.issue_id else ""
        until = row.subscription.paused_until if row.subscription else None
        reason = cancel_reason(
            row.kind,
            row.subscription.status if row.subscription else None,
            suppressed=(row.destination.kind, row.destination.core) in suppressed,
            disabled=row.destination.disabled,
            paused=f"{localtime(until):%Y-%m-%d %H:%M %Z}" if until and until > now else "",
        )
        if reason or why == DROPPED:
            unwanted[(Delivery.State.CANCELLED, "", reason or why, row.begun_before)].append(row.pk)
        elif why:
            unwanted[(Delivery.State.HELD, why, HELD_BY_CLAIM[why], row.begun_before)].append(row.pk)
        else:
            wanted.append(row)
    for (state, held_for, words, begun_at), ended in unwanted.items():
        mine = Delivery.objects.filter(pk__in=ended, lease_token=token)
        mine.update(state=state, held_for=held_for, last_error=words, begun_at=begun_at, **RELEASED)
    return wanted


@transaction.atomic
def renew(*, tokens: Iterable[UUID], now: datetime) -> set[tuple[int, UUID]]:
    """Return the deliveries that are still ours, with their tokens."""
    ours = Delivery.objects.filter(lease_token__in=list(tokens), state=Delivery.State.SENDING)
    ours.update(lease_until=now + DELIVERY_LEASE)
    return {(pk, token) for pk, token in ours.values_list("pk", "lease_token") if token}


@transaction.atomic
def give_back(*, rows: Sequence[ClaimedDelivery]) -> None:
    """Restore their old due times and their lane's tokens."""
    alike: dict[tuple[UUID, datetime | None], list[int]] = defaultdict(list)
    claims: dict[tuple[int, datetime], list[ClaimedDelivery]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row.lane.pk):
        alike[(row.token, row.begun_before)].append(row.pk)
        claims[(row.lane.pk, row.claimed_at)].append(row)
    for (token, begun_before), pks in alike.items():
        Delivery.objects.filter(pk__in=pks, lease_token=token, state=Delivery.State.SENDING).update(
            state=Delivery.State.QUEUED, **RELEASED, begun_at=begun_before
        )
    for (lane_id, claimed_at), group in claims.items():
        domains = Counter(row.domain for row in group)
        limits.give_back_use(Lane.objects.select_related("parent").get(pk=lane_id), domains, claimed_at)


def reap_expired(*, now: datetime) -> int:
    """Return how many were freed.

    Does nothing for a minute after this process lost the database: others could not renew either.
    """
    total = 0
    with note_outage():
        while not was_away_lately() and _EXPIRED.at(now):
            with transaction.atomic():
                rows = Delivery.objects.expired(now).select_related("lane").order_by("lease_until", "pk")
                freed = list(rows.select_for_update(skip_locked=True, of=("self",))[:REAPED_A_BATCH])
                for row in freed:
                    _free(row, now)
                lost = {"at": now, "outcome": "lost", "text": LOST_WORDS}
                Attempt.objects.bulk_create([Attempt(delivery=row, **lost) for row in freed])
            if not freed:
                break
            log.warning("%d deliveries of a worker that ended were taken back", len(freed))
            for kind, number in Counter(row.lane.kind for row in freed).items():
                count("leases_reaped", kind, number)
            count("attempts", "lost", len(freed))
            total += len(freed)
    return total


def _free(row: Delivery, now: datetime) -> None:
    kind = row.lane.kind
    # A removed channel's crash policy is unknown.
    policy = channel(kind).crash_policy.value if kind in CHANNELS else "hold"
    if row.kind in Delivery.CHANGES:
        policy = CrashPolicy.RESEND.value
    if policy == "hold" and row.issue_id is not None:
        options = Subscribable.objects.filter(issues=row.issue_id).values_list("options", flat=True).get()
        policy = when_unsure(policy, options.get("when_unsure", ""))
    after = after_crash(policy, attempts=row.attempts + 1, created_at=row.created_at, now=now)
    # The token keeps an outcome that was recorded meanwhile.
    ours = Delivery.objects.filter(pk=row.pk, state=Delivery.State.SENDING, lease_token=row.lease_token)
    ours.update(
        state=after.state,
        due_at=after.due_at or row.due_at,
        attempts=F("attempts") + 1,
        last_error=LOST_WORDS,
        **RELEASED,
    )


class AlreadyOpen(Refused):
    def __init__(self, since: datetime) -> None:
        super().__init__(f"A restore is open already, since {timezone.localtime(since):%Y-%m-%d %H:%M %Z}.")
        self.since = since


def is_open() -> Restore | None:
    """Return the open restore, if any. One small query.

    Claims call it under their lane's lock, after choosing rows: `begin` and `go` wait for earlier claims.
    """
    return Restore.objects.filter(released_at=None).order_by("begun_at").first()


def waits_for_go(restore: Restore) -> Q:
    """Match deliveries that are held: all except mails made after it began."""
    return Q(kind=Delivery.Kind.ISSUE) | Q(created_at__lt=restore.begun_at)


def hold_back(*, restore: Restore, pks: Collection[int]) -> int:
    """Hold the chosen rows that must wait. Return how many.

    Runs in the claim's transaction, between choosing and leasing.
    """
    rows = Delivery.objects.filter(waits_for_go(restore), pk__in=pks, state__in=WAITING)
    return rows.update(**HOLDING)


def begin(*, now: datetime) -> tuple[int, int]:
    """Hold everything unsent, and what feeds will show as new. Raises AlreadyOpen.

    Returns how many deliveries and posts. If interrupted, claims hold the rest.
    """
    with transaction.atomic():
        if (earlier := is_open()) is not None:
            raise AlreadyOpen(earlier.begun_at)
        restore, posts = Restore.objects.create(begun_at=now), hold_all(now=now)
        for hold in holds:
            hold(now)
    _let_claims_end()
    deliveries, which = 0, waits_for_go(restore) & Q(state__in=PENDING_STATES)
    while count := _update_batch(which, **HOLDING, **RELEASED):
        deliveries += count
    return deliveries, posts


def go(*, now: datetime, budget: timedelta | None = None) -> int:
    """Queue held rows again, oldest first. Return how many so far. Can be repeated.

    `finish_go` queues the rest. Posts held by feeds are decided there.
    """
    Restore.objects.filter(released_at=None).update(released_at=now)
    _let_claims_end()
    return _queue(now, TimeBudget(budget))


def finish_go(*, now: datetime, budget: timedelta | None = None) -> int:
    if is_open() is not None or not Delivery.objects.filter(HELD_ROWS).exists():
        return 0
    return _queue(now, TimeBudget(budget))


def _queue(now: datetime, budget: TimeBudget) -> int:
    queued = 0
    # The waiting days do not count towards giving up.
    fresh = {
        "state": Delivery.State.QUEUED, "held_for": "", "last_error": "", "created_at": now, "due_at": now,
        # Each may have been sent since the backup, so channels look it up first.
        "begun_at": Coalesce(F("begun_at"), F("created_at")),
    }  # fmt: skip
    while not budget.is_spent and (count := _update_batch(HELD_ROWS, **fresh)):
        queued += count
    return queued


def held_issues() -> list[tuple[Issue | None, int, datetime]]:
    """Return issues with counts of held deliveries and times of creation; None for other mails.

    Two queries.
    """
    rows = Delivery.objects.filter(HELD_ROWS).order_by().values("issue")
    counts = list(rows.annotate(n=Count("pk"), oldest=Min("created_at"), newest=Max("created_at")))
    issues = Issue.objects.select_related("subscribable").defer("html", "text", "placeholders")
    known = issues.in_bulk([row["issue"] for row in counts if row["issue"]])
    held = [(known.get(row["issue"]), row) for row in counts]
    held.sort(key=lambda one: (one[0].subscribable.name if one[0] else "", one[1]["oldest"]))
    return [(issue, row["n"], issue.created_at if issue else row["newest"]) for issue, row in held]


@transaction.atomic
def _let_claims_end() -> None:
    """Wait for claims that began before our last commit. Later ones see the restore."""
    list(Lane.objects.select_for_update().order_by("pk").values_list("pk"))


@transaction.atomic
def _update_batch(which: Q, **changes: Any) -> int:
    locked = Delivery.objects.filter(which).order_by("pk").select_for_update()
    pks = list(locked.values_list("pk", flat=True)[:RESTORED_A_BATCH])
    return Delivery.objects.filter(which, pk__in=pks).update(**changes)
