"""Records ended tasks, so that their connections may continue."""

import logging
from collections.abc import Callable, Sequence
from functools import partial

from channels.base import Sent
from common.db.outage import DB_ERRORS, retry_until_stored
from delivery.engine.accept import record_accepted
from delivery.engine.leases import give_back
from delivery.engine.outcomes import hold_unrecorded, is_plain, record_outcomes
from delivery.engine.send_task import SendTask

log = logging.getLogger(__name__)


def settle(tasks: Sequence[SendTask]) -> None:
    """Record outcomes and return what was not begun. Waits for the database as long as it takes."""
    if not tasks:
        return
    # Nearly always all were accepted by a healthy lane: then one statement is enough.
    are_plain = all(
        isinstance(task.outcome, Sent) and is_plain(task) and not task.delivery.lane.is_recovering
        for task in tasks
    )
    if are_plain and not retry_until_stored(partial(_failure, record_accepted, tasks)):
        return
    ended = [task for task in tasks if task.outcome is not None]
    unbegun = [task.delivery for task in tasks if task.outcome is None]
    failure = retry_until_stored(partial(_failure, record_outcomes, ended)) if ended else None
    if failure is not None:
        # One outcome that cannot be recorded must not hold up the others.
        for task in ended:
            if error := retry_until_stored(partial(_failure, record_outcomes, [task])):
                reason = f"What became of this could not be recorded: {error}"
                retry_until_stored(partial(hold_unrecorded, row=task.delivery, reason=reason))
    if unbegun:
        retry_until_stored(lambda: give_back(rows=unbegun))


def _failure(record: Callable[[Sequence[SendTask]], None], tasks: Sequence[SendTask]) -> Exception | None:
    """Return why they could not be recorded together. Raises when the database is unreachable."""
    try:
        record(tasks)
    except DB_ERRORS:
        raise
    except Exception as error:
        log.exception("outcomes could not be recorded", extra={"delivery": tasks[0].pk})
        return error
    return None
