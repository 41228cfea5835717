"""Makes the ends of tasks durable, so that their connections may go on."""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from queue import Empty

from delivery.channels import channel
from delivery.services.database import AWAY, durably
from delivery.services.leases import give_back
from delivery.services.parcels import Done, Task
from delivery.services.recording import Result, hold, record

log = logging.getLogger(__name__)


def gathered(done: Done, seconds: float) -> list[Task]:
    """What has ended, waiting up to so many seconds for the first."""
    tasks: list[Task] = []
    try:
        tasks += done.get(timeout=seconds)
        while True:
            tasks += done.get_nowait()
    except Empty:
        return tasks


def settle(tasks: Sequence[Task], *, clock: Callable[[], datetime]) -> None:
    """Records outcomes, then gives back what was not begun; waits for the database as long as it takes."""
    kinds = {task.job.row.lane.kind for task in tasks}
    policies = {kind: channel(kind).crash_policy.value for kind in kinds}
    results = [
        Result(
            task.job,
            task.outcome,
            task.at or clock(),
            policies[task.job.row.lane.kind],
            begun=task.begun,
        )
        for task in tasks
        if task.outcome is not None
    ]
    unbegun = [task.job for task in tasks if task.outcome is None]
    if results:
        durably(lambda: _record(results))
    if unbegun:
        durably(lambda: give_back(jobs=unbegun))


def _record(results: Sequence[Result]) -> None:
    try:
        record(results=results)
    except AWAY:
        raise
    except Exception:  # one outcome that cannot be recorded must not hold up the others
        log.exception("outcomes could not be recorded together")
        for result in results:
            _record_alone(result)


def _record_alone(result: Result) -> None:
    try:
        record(results=[result])
    except AWAY:
        raise
    except Exception as error:
        log.exception("an outcome could not be recorded", extra={"delivery": result.job.pk})
        hold(job=result.job, reason=f"What became of this could not be recorded: {error}")
