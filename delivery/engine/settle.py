"""Makes the ends of tasks durable, so that their connections may go on."""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from queue import Empty

from common.db.outage import DB_ERRORS, retry_until_stored
from delivery.channels import channel
from delivery.channels.base import Sent
from delivery.engine.accept import Acceptance, acceptance, record_accepted
from delivery.engine.jobs import Done, SendTask
from delivery.engine.leases import give_back
from delivery.engine.outcomes import Result, hold, record

log = logging.getLogger(__name__)


def gathered(done: Done, seconds: float) -> list[SendTask]:
    """What has ended, waiting up to so many seconds for the first."""
    tasks: list[SendTask] = []
    try:
        tasks += done.get(timeout=seconds)
        while True:
            tasks += done.get_nowait()
    except Empty:
        return tasks


def settle(tasks: Sequence[SendTask], *, clock: Callable[[], datetime]) -> None:
    """Records outcomes, then gives back what was not begun; waits for the database as long as it takes."""
    if not tasks:
        return
    # (Nearly always: one statement, which is a transaction of its own.)
    if all(_is_plain(task) for task in tasks) and retry_until_stored(lambda: _record_plain(tasks, clock)):
        return
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
        retry_until_stored(lambda: _record(results))
    if unbegun:
        retry_until_stored(lambda: give_back(jobs=unbegun))


def _is_plain(task: SendTask) -> bool:
    """Whether it was accepted, by a lane that is well, and that is all."""
    outcome = task.outcome
    return isinstance(outcome, Sent) and outcome.stored is None and not task.job.row.lane.failures


def _record_plain(tasks: Sequence[SendTask], clock: Callable[[], datetime]) -> bool:
    """Whether they could be recorded together."""
    try:
        record_accepted([_accepted(task, clock) for task in tasks])
    except DB_ERRORS:
        raise
    except Exception:
        log.exception("acceptances could not be recorded together")
        return False
    return True


def _accepted(task: SendTask, clock: Callable[[], datetime]) -> Acceptance:
    assert isinstance(task.outcome, Sent)  # noqa: S101 - for the type checker
    return acceptance(task.job, task.at or clock(), task.outcome.remote_id, stored=False)


def _record(results: Sequence[Result]) -> None:
    try:
        record(results=results)
    except DB_ERRORS:
        raise
    except Exception:  # one outcome that cannot be recorded must not hold up the others
        log.exception("outcomes could not be recorded together")
        for result in results:
            _record_alone(result)


def _record_alone(result: Result) -> None:
    try:
        record(results=[result])
    except DB_ERRORS:
        raise
    except Exception as error:
        log.exception("an outcome could not be recorded", extra={"delivery": result.job.pk})
        hold(job=result.job, reason=f"What became of this could not be recorded: {error}")
