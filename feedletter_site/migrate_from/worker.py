"""Stage that processes uploaded databases.

Our own rows are written before the report and the count of parts: after a crash the next worker finds what
was taken already.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from common.clock import utcnow
from common.db.leases import held
from common.passes import TimeBudget
from common.refused import Refused
from common.secrets import opened
from common.text import without_controls
from common.uploads import process_uploads, unpacked
from feedletter_site.migrate_from.source import (
    READING,
    Line,
    Options,
    Plan,
    Question,
    Undecided,
    source_called,
)
from feedletter_site.migrate_from.take_over import Batch, Doing, process
from feedletter_site.models import Arrival, ArrivalLine

State = Arrival.State
FOLDER = "feedletter-arrival"
DOING = {State.LOOKING: Doing.LOOK, State.READING: Doing.READ, State.TAKING: Doing.TAKE}


@transaction.atomic
def begin_reading(arrival: Arrival, *, now: datetime) -> None:
    """Raises NotPossible."""
    row = arrival.locked(State.LOOKED)
    row.lines.filter(what__in=READING).delete()
    row.hand_on(State.READING, now, is_read=False, done=0)


@transaction.atomic
def begin_taking(arrival: Arrival, *, now: datetime) -> None:
    """Discard the preview and start. Raises NotPossible."""
    row = arrival.locked(State.LOOKED)
    row.lines.all().delete()
    row.hand_on(State.TAKING, now, begun_at=now, is_read=False, done=0)


@transaction.atomic
def answer_questions(arrival: Arrival, answers: Mapping[str, Any], *, now: datetime) -> None:
    """Look again, with these options. Raises NotPossible."""
    row = arrival.locked(*Arrival.WAITING)
    row.lines.all().delete()
    row.hand_on(State.LOOKING, now, options={**row.options, **answers}, is_read=False, done=0)


def to_take_in(now: datetime) -> tuple[QuerySet[Any], ...]:
    return (Arrival.claimable(now), Arrival.forgettable(now))


def work_off_arrivals(*, budget: timedelta) -> None:
    process_uploads(Arrival, _work, budget=budget)


def _work(row: Arrival, left: TimeBudget) -> None:
    source, doing = source_called(row.source), DOING[State(row.state)]
    with unpacked(row, FOLDER) as place:
        try:
            options = Options(**row.options, secrets=opened(row.secrets))
            plan = source.read(str(place), options=options, now=utcnow())
        except Undecided as error:
            _ask(row, error.questions)
            row.finish(State.ASKING)
            return
        except Refused as error:
            # The path is temporary.
            row.trouble = str(error).replace(str(place), f"“{row.file_name}”")
            row.finish(State.UNUSABLE)
            return
    if not row.done and not _begin(row, plan, doing):
        return
    for batch in process(source, plan, doing, now=utcnow(), begin=row.done, told=row.renew):
        if not _record(row, batch):
            return
        if left.is_spent and row.done < row.parts:
            row.release()
            return
    row.is_read |= doing is Doing.READ
    row.finish(State.DONE if doing is Doing.TAKE else State.LOOKED)


def _ask(row: Arrival, questions: Sequence[Question]) -> None:
    row.questions = [asdict(question) for question in questions]


def _begin(row: Arrival, plan: Plan, doing: Doing) -> bool:
    """Return False if another worker has the row."""
    with held(row) as is_ours:
        if is_ours:
            row.parts, row.notes = len(plan.parts), list(plan.notes)
            _ask(row, plan.questions)
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
            row.done = batch.done
            row.note_progress()
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
