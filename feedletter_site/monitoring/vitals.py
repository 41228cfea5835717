"""Signs of life of a process: rows for stages and counters, and a file for `alive.py`.

Written at most every ten seconds; the file only if the database accepted the rows.
"""

import logging
import threading
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError, transaction
from django.db.models import F

from common import counters
from common.clock import utcnow
from common.passes import longest_running
from feedletter_site.models import Counted, Stage

log = logging.getLogger(__name__)

EVERY_SECONDS = 10.0
# A pass takes 20 seconds, but finishes its current item.
HANGS_AFTER_SECONDS = 300.0


class Vitals:
    """Thread-safe, without waiting."""

    def __init__(self) -> None:
        self._begun = self._has_worked = False
        self._roles: set[str] = set()
        self._seen: dict[str, dict[str, datetime]] = {"ran_at": {}, "ticked_at": {}}
        self._written_at = float("-inf")
        self._lock = threading.Lock()
        self._file_trouble = False

    def begin(self, role: str = "") -> None:
        """`role` names the file: a worker's name, or beat."""
        self._begun = True
        if role:
            self._roles.add(role)

    def end(self) -> None:
        self.write(now=True)
        for role in self._roles:
            alive_file(role).unlink(missing_ok=True)

    def ran(self, stage: str) -> None:
        self._seen["ran_at"][stage] = utcnow()
        self.write()

    def ticked(self, stage: str) -> None:
        self._seen["ticked_at"][stage] = utcnow()
        self.write()

    def write(self, *, now: bool = False) -> None:
        """Write unless that was done recently. Ignores outages of the database."""
        if not self._begun or (not now and time.monotonic() - self._written_at < EVERY_SECONDS):
            return
        if not self._lock.acquire(blocking=False):
            return
        try:
            self._written_at = time.monotonic()
            for column, seen in self._seen.items():
                taken = {stage: seen.pop(stage) for stage in list(seen)}
                self._has_worked |= bool(taken)
                try:
                    write_stages(column, taken)
                except (DatabaseError, InterfaceError):
                    self._seen[column] = taken | seen
                    raise
            counters.flush()
        except (DatabaseError, InterfaceError) as error:
            log.info("The worker’s heartbeat can’t be stored: %s", error)
        else:
            self._touch()
        finally:
            self._lock.release()

    def _touch(self) -> None:
        # Pages that are looked at say nothing about the worker in the same process.
        if not self._has_worked or longest_running() > HANGS_AFTER_SECONDS:
            return
        self._has_worked = False
        for role in self._roles:
            path = alive_file(role)
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
            except OSError as error:
                if not self._file_trouble:
                    log.warning(
                        "%s cannot be written, so no health check will know: %s", path, error.strerror
                    )
                self._file_trouble = True


VITALS = Vitals()


def alive_file(role: str) -> Path:
    return Path(settings.DATA_DIR) / "alive" / role


def write_stages(column: str, seen: Mapping[str, datetime]) -> None:
    rows = [Stage(name=name, **{column: at}) for name, at in sorted(seen.items())]
    if rows:
        Stage.objects.bulk_create(rows, update_conflicts=True, unique_fields=["name"], update_fields=[column])


def write_counts(counts: Mapping[counters.Key, int]) -> None:
    with transaction.atomic():
        for (name, label), by in sorted(counts.items()):
            rows = Counted.objects.filter(name=name, label=label)
            if not rows.update(count=F("count") + by):
                Counted.objects.bulk_create([Counted(name=name, label=label)], ignore_conflicts=True)
                rows.update(count=F("count") + by)


def begin_worker(sender: Any, **_: Any) -> None:
    """Receive Celery's worker_ready."""
    name = str(sender.hostname).partition("@")[0]
    VITALS.begin(name)
    counters.count("workers", "began")
    log.info("The worker %s of release %s began.", name, settings.VERSION)


def begin_beat(**_: Any) -> None:
    """Receive Celery's beat_init."""
    VITALS.begin("beat")


def end_worker(**_: Any) -> None:
    """Receive Celery's worker_shutdown, which killed workers do not send."""
    counters.count("workers", "ended")
    log.info("A worker of release %s ended in good order.", settings.VERSION)
    VITALS.end()


def after_request(**_: Any) -> None:
    """Receive request_finished."""
    VITALS.write()
