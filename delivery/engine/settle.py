"""Makes the ends of tasks durable, so that their connections may go on."""

import logging
from collections.abc import Callable, Sequence

from common.db.outage import DB_ERRORS, retry_until_stored
from delivery.channels.base import Sent
from delivery.engine.accept import record_accepted
from delivery.engine.leases import give_back
from delivery.engine.outcomes import hold_unrecorded, record_outcomes
from delivery.engine.send_task import SendTask

log = logging.getLogger(__name__)


def settle(tasks: Sequence[SendTask]) -> None:
    """Records outcomes, then gives back what was not begun; waits for the database as long as it takes."""
    # Nearly always all were accepted, by a lane that is well, and that is all: one statement, which is a
    # transaction of its own.
    are_plain = all(
        isinstance(task.outcome, Sent) and task.outcome.stored is None and not task.delivery.lane.failures
        for task in tasks
    )
    if are_plain and retry_until_stored(lambda: _are_recorded(record_accepted, tasks)):
        return
    ended = [task for task in tasks if task.outcome is not None]
    unbegun = [task.delivery for task in tasks if task.outcome is None]
    if ended:
        retry_until_stored(lambda: _record_each(ended))
    if unbegun:
        retry_until_stored(lambda: give_back(rows=unbegun))


def _are_recorded(record: Callable[[Sequence[SendTask]], None], tasks: Sequence[SendTask]) -> bool:
    """Whether they could be recorded together. Raises what says that the database is away."""
    try:
        record(tasks)
    except DB_ERRORS:
        raise
    except Exception:
        log.exception("outcomes could not be recorded together")
        return False
    return True


def _record_each(tasks: Sequence[SendTask]) -> None:
    """Together; else one by one, for one outcome that cannot be recorded must not hold up the others."""
    if _are_recorded(record_outcomes, tasks):
        return
    for task in tasks:
        try:
            record_outcomes([task])
        except DB_ERRORS:
            raise
        except Exception as error:
            log.exception("an outcome could not be recorded", extra={"delivery": task.pk})
            hold_unrecorded(row=task.delivery, reason=f"What became of this could not be recorded: {error}")
