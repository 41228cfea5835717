import logging
from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db import connection, transaction
from django.db.models import F

from channels.base import Sent
from common.db.leases import RELEASED
from delivery.engine.accept_sql import STATEMENTS, STOPPED_ISSUE, AcceptedRow, parameters, remote_id_of
from delivery.engine.send_task import SendTask
from delivery.models import Attempt, Delivery

log = logging.getLogger(__name__)


def record_accepted(tasks: Sequence[SendTask]) -> None:
    """Record acceptances, even when the lease was lost: the message did arrive.

    Can be repeated after a failed commit. Marks tasks of paused or cancelled issues as `recalled`.
    """
    if not tasks:
        return
    written: dict[datetime, str] = {}
    rows = []
    for task in tasks:
        outcome = task.outcome
        assert isinstance(outcome, Sent)  # noqa: S101 - for the type checker
        if task.at not in written:
            written[task.at] = str(connection.ops.adapt_datetimefield_value(task.at))
        state = Delivery.State.SENT if outcome.stored is None else Delivery.State.STORED
        name = remote_id_of(outcome.remote_id)
        rows.append(AcceptedRow(task.pk, task.delivery.token.hex, written[task.at], name, state.value))
    with connection.cursor() as cursor:
        cursor.execute(STATEMENTS[connection.vendor], parameters(connection.vendor, rows))
        are_all_ours = cursor.rowcount == len(rows)
        for issue in {task.issue for task in tasks if task.issue is not None}:
            cursor.execute(STOPPED_ISSUE, [issue])
            if cursor.fetchone():
                for task in tasks:
                    task.recalled |= task.issue == issue
    if not are_all_ours:
        _record_late({row.id: (task.at, row) for task, row in zip(tasks, rows, strict=True)})


@transaction.atomic
def _record_late(accepted: Mapping[int, tuple[datetime, AcceptedRow]]) -> None:
    """A worker that claimed a row meanwhile loses its lease at the next renewal."""
    for row in Delivery.objects.select_for_update(no_key=True).filter(pk__in=accepted).order_by("pk"):
        at, ours = accepted[row.pk]
        if (row.remote_id, row.sent_at) == (ours.remote_id, at):
            continue  # recorded already, perhaps by a commit whose answer was lost
        log.warning("accepted after the lease was lost", extra={"delivery": row.pk})
        if row.state in (Delivery.State.SENDING, Delivery.State.SENT):
            Attempt.objects.create(delivery=row, at=at, outcome="accepted twice", text=ours.remote_id)
        if row.state not in (Delivery.State.SENT, Delivery.State.STORED):
            Delivery.objects.filter(pk=row.pk, state=row.state).update(
                state=ours.state,
                sent_at=at,
                remote_id=ours.remote_id,
                last_error="",
                held_for="",
                begun_at=None,
                attempts=F("attempts") + 1,
                **RELEASED,
            )
