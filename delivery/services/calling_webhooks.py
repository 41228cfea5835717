"""Calling webhooks: calls that are due are claimed, made in threads without a transaction, and recorded here.

At least once: what was sent and not recorded is sent again, with the same id.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import datetime, timedelta

from common.clock import utcnow
from delivery.services.claiming_calls import AT_ONCE, Job, claim, is_any_due
from delivery.services.database import durably
from delivery.services.posting_calls import Answer, post
from delivery.services.recording_calls import record
from delivery.services.stopping import stopping

log = logging.getLogger(__name__)

# While calls are under way, seconds until others are looked for.
LOOK_AGAIN = 0.5


def call_due(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    """Makes the calls that are due, or what the budget allows. Returns how many were made.

    A receiver that is slow or gone takes few of the threads, so that it keeps nobody else waiting.
    """
    if not is_any_due(clock()):
        return 0
    stop_at = None if budget is None else time.monotonic() + budget.total_seconds()
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="webhook") as pool:
        return _work(pool, clock, stop_at)


def _work(pool: ThreadPoolExecutor, clock: Callable[[], datetime], stop_at: float | None) -> int:
    running: dict[Future[Answer], Job] = {}
    made = 0
    while True:
        if not stopping.is_set() and (stop_at is None or time.monotonic() < stop_at):
            for job in claim(now=clock(), busy=Counter(job.webhook_id for job in running.values())):
                running[pool.submit(post, job, at=clock())] = job
        if not running:
            return made
        done, _ = wait(running, timeout=LOOK_AGAIN, return_when=FIRST_COMPLETED)
        for future in done:
            _record(running.pop(future), future, clock())
            made += 1


def _record(job: Job, future: "Future[Answer]", now: datetime) -> None:
    """An outcome that cannot be recorded stops no other: its lease ends, and it is sent again."""
    answer = future.result()
    try:
        durably(lambda: record(job=job, answer=answer, now=now))
    except Exception:
        log.exception("an answer could not be recorded", extra={"call": job.pk})
