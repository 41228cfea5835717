"""Stage that processes uploaded databases.

Our own rows are written before the report and the count of parts: after a crash the next worker finds what
was taken already.
"""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from common.clock import utcnow
from common.db.leases import handed_on, held, held_by, lease, unleased
from common.passes import TimeBudget
from common.refused import Refused
from common.text import one_line, shortened, without_controls
from feedletter_site.migrate_from.report import Line
from feedletter_site.migrate_from.source import Plan, source_called
from feedletter_site.migrate_from.take_over import Batch, Doing, process
from feedletter_site.migrate_from.uploads import OPEN, State, end_arrival, forgettable, unpacked
from feedletter_site.models import Arrival, ArrivalLine

LEASE = timedelta(minutes=2)
MOST_FAILURES = 3
DOING = {State.LOOKING: Doing.LOOK, State.READING: Doing.READ, State.TAKING: Doing.TAKE}

log = logging.getLogger(__name__)


def to_take_in(now: datetime) -> tuple[QuerySet[Any], ...]:
    return (claimable_arrivals(now), forgettable(now))


def claimable_arrivals(now: datetime) -> QuerySet[Arrival]:
    return Arrival.objects.filter(unleased(now), state__in=OPEN)


def work_off_arrivals(*, budget: timedelta) -> None:
    left = TimeBudget(budget)
    forgettable(utcnow()).delete()
    while row := claim_arrival(now=utcnow()):
        try:
            _work(row, left)
        except Exception as error:
            if isinstance(error, Refused):
                held_by(row).update(trouble=shortened(one_line(str(error)), 1_000))
            else:
                log.exception("arrival %s failed", row.pk)
                _note_failure(row, f"{type(error).__name__}: {error}")
        if left.is_spent:
            break


def _note_failure(row: Arrival, words: str) -> None:
    row.failures += 1
    row.trouble = shortened(one_line(words), 1_000)
    if row.failures < MOST_FAILURES:
        held_by(row).update(failures=row.failures, trouble=row.trouble)
        return
    row.trouble = f"Given up after {row.failures} errors. {row.trouble}"
    _finish(row, State.UNUSABLE)


@transaction.atomic
def claim_arrival(*, now: datetime) -> Arrival | None:
    rows = claimable_arrivals(now).order_by("pk")
    row = rows.select_for_update(skip_locked=True, no_key=True).first()
    if row is not None:
        taken = lease(now, LEASE)
        row.lease_token, row.lease_until = taken.token, taken.until
        row.save(update_fields=["lease_token", "lease_until"])
    return row


def _work(row: Arrival, left: TimeBudget) -> None:
    source, doing = source_called(row.source), DOING[State(row.state)]
    with unpacked(row) as place:
        try:
            plan = source.read(place, now=utcnow())
        except Refused as error:
            # The path is temporary.
            row.trouble = str(error).replace(str(place), f"“{row.file_name}”")
            _finish(row, State.UNUSABLE)
            return
    if not row.done and not _begin(row, plan, doing):
        return

    def renew() -> None:
        held_by(row).update(lease_until=utcnow() + LEASE)

    for batch in process(source, plan, doing, now=utcnow(), begin=row.done, told=renew):
        if not _record(row, batch):
            return
        if left.is_spent and row.done < row.parts:
            held_by(row).update(**handed_on(utcnow()))
            return
    _finish(row, State.DONE if doing is Doing.TAKE else State.LOOKED)


def _begin(row: Arrival, plan: Plan, doing: Doing) -> bool:
    """Return False if another worker has the row."""
    with held(row) as is_ours:
        if is_ours:
            row.parts, row.notes = len(plan.parts), list(plan.notes)
            if doing is not Doing.READ:
                # A killed worker may have left lines.
                row.lines.all().delete()
                _keep(row, plan.refused)
            row.save()
    return is_ours


def _record(row: Arrival, batch: Batch) -> bool:
    """Return False if another worker has the row."""
    with held(row) as is_ours:
        if is_ours:
            _keep(row, batch.lines)
            row.done, row.trouble, row.failures = batch.done, "", 0
            row.lease_until = utcnow() + LEASE
            row.save()
    return is_ours


def _keep(row: Arrival, lines: Sequence[Line]) -> None:
    """PostgreSQL stores no NUL."""
    ArrivalLine.objects.bulk_create(
        ArrivalLine(
            arrival=row,
            what=line.fate,
            kind=line.kind,
            name=without_controls(line.name),
            words=without_controls(line.words),
            count=line.count,
        )
        for line in lines
    )


def _finish(row: Arrival, state: State) -> None:
    with held(row) as is_ours:
        if is_ours:
            row.is_read = row.is_read or row.state == State.READING
            end_arrival(row, state, utcnow())
