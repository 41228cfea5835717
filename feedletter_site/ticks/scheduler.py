"""Beat's scheduler: skips stages without work, survives clock changes, broker and database outages.

Checks all stages with one query, because an empty tick costs as much as any other. Ticks have no expiry,
because clock differences would make workers drop them. Instead, full queues get none.
"""

import logging
import time
from datetime import timedelta
from typing import Any

from celery.schedules import schedstate
from celery.utils.time import maybe_make_aware
from django.db import DatabaseError, InterfaceError
from django_celery_beat.schedulers import DatabaseScheduler

from common.clock import Drift, utcnow
from common.counters import count
from common.optional_apps import switched_on
from feedletter_site.monitoring.stages import QUESTIONS, stages_without_work
from feedletter_site.monitoring.vitals import VITALS

log = logging.getLogger(__name__)

# Ticks per queue. SELDOM ticks are always sent.
MOST_WAITING = 20
SELDOM = timedelta(minutes=1)
# A row's last run may be this far in the future.
TOLERANCE = timedelta(seconds=2)
SAY_EVERY = 30.0
# Seconds without ticks after a failure: each attempt connects anew.
BROKER_RESTS = 2.0
# Seconds between checks for work, and for edits of the schedule.
WORK_LOOK_SECONDS = 1.0
SCHEDULE_REREAD_SECONDS = 5.0
# Seconds until a stage ticks anyway, for work that its query does not cover.
LONGEST_REST = 15.0


class Scheduler(DatabaseScheduler):  # type: ignore[misc]
    """Uses the monotonic clock, so that clock changes cannot delay stages."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._drift = Drift()
        self._said_at: dict[str, float] = {}
        self._rests_until = self._looked_at = self._reread_at = float("-inf")
        self._without_work: set[str] = set()
        self._ticked_at: dict[str, float] = {}
        super().__init__(*args, **kwargs)

    def tick(self, *args: Any, **kwargs: Any) -> float:
        if moved := self._drift.moved():
            log.warning("This machine's clock was moved by %+.0f seconds, so beat plans again.", moved)
            count("trouble", "clock_moved")
            self._heap = None
        return float(super().tick(*args, **kwargs))

    def populate_heap(self, *args: Any, **kwargs: Any) -> None:
        for entry in self.schedule.values():
            # Otherwise a stage with a last run in the future would wait until then.
            now = entry._default_now()
            last = max(maybe_make_aware(entry.last_run_at), maybe_make_aware(entry.model.last_run_at or now))
            if last - now <= TOLERANCE:
                continue
            count("trouble", "last_run_in_the_future")
            log.warning(
                "%s last ran %d seconds in the future: beat's clock was wrong. It counts as run now.",
                entry.name,
                (last - now).total_seconds(),
                extra={"stage": entry.name},
            )
            entry.last_run_at = entry.model.last_run_at = now
            self._dirty.add(entry.name)
        super().populate_heap(*args, **kwargs)

    def is_due(self, entry: Any) -> schedstate:
        state: schedstate = super().is_due(entry)
        now = time.monotonic()
        rested = now - self._ticked_at.get(entry.name, float("-inf"))
        if not state.is_due or entry.task not in QUESTIONS or rested >= LONGEST_REST:
            return state
        if now - self._looked_at >= WORK_LOOK_SECONDS:
            self._looked_at = now
            try:
                self._without_work = stages_without_work(utcnow())
            except (DatabaseError, InterfaceError) as error:
                log.info("Beat can't check for work, so every stage ticks: %s", error)
                self._without_work = set()
        if entry.task not in self._without_work:
            return state
        # All are due right after the next check, so that one check serves all.
        return schedstate(False, max(self._looked_at + WORK_LOOK_SECONDS - time.monotonic(), 0.01))

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        """Send the tick unless its queue is full. Errors are harmless: more ticks follow."""
        self._ticked_at[entry.name] = time.monotonic()
        try:
            if time.monotonic() >= self._rests_until and not self._is_full(entry, producer):
                self.apply_async(entry, producer=producer, advance=False)
        except Exception as error:  # noqa: BLE001 - whatever it is, beat goes on
            self._refused(error)
        VITALS.ticked(entry.name)

    def _ensure_connected(self) -> Any:
        """Return the connection even if the broker refuses it; Celery would end beat."""
        try:
            return super()._ensure_connected()
        except (*self.connection.connection_errors, *self.connection.channel_errors) as error:
            self._refused(error)
            return self.connection

    def _refused(self, error: Exception) -> None:
        self._rests_until = time.monotonic() + BROKER_RESTS
        count("trouble", "broker_away")
        self._say("broker", "The broker accepts no tick: %s", error)

    def _is_full(self, entry: Any, producer: Any) -> bool:
        every = getattr(entry.schedule, "run_every", SELDOM)
        if every >= SELDOM:
            return False
        queue = self.app.amqp.router.route(entry.options, entry.task)["queue"].name
        try:
            waiting = producer.channel.queue_declare(queue, durable=True, auto_delete=False).message_count
        except Exception:  # noqa: BLE001 - a broker that does not say is asked to take the tick
            return False
        if waiting >= MOST_WAITING:
            self._say(queue, "%s", f"{waiting} ticks wait in the queue {queue}: no worker takes them.")
        return bool(waiting >= MOST_WAITING)

    def all_as_schedule(self) -> dict[str, Any]:
        """Return the last known schedule if the database is unreachable, without apps that are off.

        No worker takes their ticks.
        """
        try:
            return switched_on(super().all_as_schedule())
        except (DatabaseError, InterfaceError) as error:
            if self._schedule is None:
                raise
            self._say(
                "database", "The database is unavailable, so beat keeps the schedule that it has: %s", error
            )
            return dict(self._schedule)

    def schedule_changed(self) -> bool:
        """May be outdated by SCHEDULE_REREAD_SECONDS."""
        if time.monotonic() - self._reread_at < SCHEDULE_REREAD_SECONDS:
            return False
        self._reread_at = time.monotonic()
        return bool(super().schedule_changed())

    def _say(self, about: str, words: str, detail: object) -> None:
        now = time.monotonic()
        if now - self._said_at.get(about, float("-inf")) >= SAY_EVERY:
            self._said_at[about] = now
            log.warning(words, detail)
