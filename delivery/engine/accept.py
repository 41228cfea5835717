"""Recording acceptances: one statement for all that have gathered, whatever the servers said."""

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import connection, transaction
from django.db.models import F

from delivery.engine.accept_sql import AcceptedRow, parameters, remote_id_of, statement
from delivery.engine.jobs import Job
from delivery.models import Attempt, Delivery

log = logging.getLogger(__name__)

SENT, STORED = Delivery.State.SENT.value, Delivery.State.STORED.value


class Acceptance(NamedTuple):
    """That a server took a message, when, and what it called it. `stored`: it is kept here instead."""

    job: Job
    at: datetime
    remote_id: str
    stored: bool = False


def record_accepted(accepted: Sequence[Acceptance]) -> None:
    """Makes them durable, also after our lease was taken from us: the message did arrive.

    Safe to repeat after a failed commit. One statement, where nobody else has taken anything.
    """
    if not accepted:
        return
    if _update(accepted) != len(accepted):
        _record_late(accepted)


def acceptance(job: Job, at: datetime, remote_id: str, *, stored: bool) -> Acceptance:
    return Acceptance(job, at, remote_id_of(remote_id), stored)


def _update(accepted: Sequence[Acceptance]) -> int:
    """Those that are still ours. Returns how many."""
    written: dict[datetime, str] = {}
    for one in accepted:
        if one.at not in written:
            written[one.at] = str(connection.ops.adapt_datetimefield_value(one.at))
    rows = [
        AcceptedRow(
            one.job.row.pk,
            one.job.token.hex,
            written[one.at],
            one.remote_id,
            STORED if one.stored else SENT,
        )
        for one in accepted
    ]
    with connection.cursor() as cursor:
        cursor.execute(statement(connection.vendor), parameters(connection.vendor, rows))
        return int(cursor.rowcount)


@transaction.atomic
def _record_late(accepted: Sequence[Acceptance]) -> None:
    """Whoever claimed one meanwhile finds its lease gone at the next renewal and skips it if not begun."""
    known = {one.job.pk: one for one in accepted}
    for row in Delivery.objects.select_for_update(no_key=True).filter(pk__in=known).order_by("pk"):
        one = known[row.pk]
        if (row.remote_id, row.sent_at) == (one.remote_id, one.at):
            continue  # just now, or by the commit of which we did not hear
        log.warning("accepted after the lease was lost", extra={"delivery": row.pk})
        if row.state in (Delivery.State.SENDING, Delivery.State.SENT):
            Attempt.objects.create(delivery=row, at=one.at, outcome="accepted twice", text=one.remote_id)
        if row.state not in (Delivery.State.SENT, Delivery.State.STORED):
            Delivery.objects.filter(pk=row.pk, state=row.state).update(
                state=STORED if one.stored else SENT,
                sent_at=one.at,
                remote_id=one.remote_id,
                last_error="",
                held_for="",
                begun_at=None,
                attempts=F("attempts") + 1,
                lease_token=None,
                lease_until=None,
            )
