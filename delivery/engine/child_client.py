"""The worker's end of the loop process: begins it, speaks to it, hears what ended."""

import logging
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.db import connection

from delivery.dkim.keys import SigningKey, to_pem
from delivery.engine.child_protocol import FrameReader, frame
from delivery.engine.event_loop import prepare
from delivery.engine.jobs import SendTask

log = logging.getLogger(__name__)

_CHUNK = 256 * 1024
# Seconds for which it is kept with nothing to do.
KEPT = 30.0
Heard = Callable[..., None]


class LoopProcess:
    """A loop process, and a thread that hears what it says. `is_alive` until it went."""

    def __init__(self) -> None:
        prepare()
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "delivery.engine.child", str(theirs.fileno())]
        with theirs:
            # (Only our own words.)
            self._process = subprocess.Popen(  # noqa: S603
                command, pass_fds=[theirs.fileno()], cwd=settings.BASE_DIR
            )
        self._socket, self._lock = ours, threading.Lock()
        self._listeners: dict[int, Heard] = {}
        self._keys: dict[int, tuple[int, SigningKey]] = {}
        self._records = False
        self.is_alive = True
        self.used_at = time.monotonic()
        self.on_death: Callable[[], None] = _nothing
        self._thread = threading.Thread(target=self._listen, name="loop process", daemon=True)
        self._thread.start()
        if (place := place_of_records()) is not None:
            self._records = True
            self.say("database", place)

    @property
    def pid(self) -> int:
        return self._process.pid

    def listen(self, lane_id: int, heard: Heard) -> None:
        """Who is told what the process says of a lane."""
        self._listeners[lane_id] = heard

    def say(self, *words: Any) -> None:
        """Nothing, when it is gone: whoever waits for it is told by `on_death`."""
        octets = frame(*words)
        # (It is gone only when all that it had said is heard: some of it may be acceptances.)
        with self._lock, suppress(OSError):
            self._socket.sendall(octets)

    def put(self, lane_id: int, mails: Sequence[tuple[SendTask, Any]]) -> None:
        """Messages to send."""
        rows = [
            (
                task.pk,
                task.priority,
                self._token(task),
                mail.sender,
                mail.recipient,
                mail.pieces,
                mail.has_dots,
                [self._known(key) for key in mail.signing_keys],
            )
            for task, mail in mails
        ]
        self.say("put", lane_id, rows)

    def _token(self, task: SendTask) -> str:
        """Its lease's, if an acceptance may be recorded over there: by a lane that is well."""
        return task.job.token.hex if self._records and not task.job.row.lane.failures else ""

    def _known(self, key: SigningKey) -> int:
        """The key's number over there. (Kept, so that no other object gets the same id.)"""
        if id(key) not in self._keys:
            number = len(self._keys)
            self._keys[id(key)] = (number, key)
            self.say("key", number, key.domain, key.selector, to_pem(key.private))
        return self._keys[id(key)][0]

    def close(self) -> None:
        """It ends by itself when it hears nobody any more."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._process.wait()
        self._socket.close()

    def _listen(self) -> None:
        frames = FrameReader()
        try:
            while octets := self._socket.recv(_CHUNK):
                for word, lane_id, *rest in frames.read(octets):
                    self._listeners[lane_id](word, *rest)
        except OSError:
            log.debug("the loop process went")
        finally:
            self.is_alive = False
            self.on_death()


def place_of_records() -> dict[str, Any] | None:
    """How to reach the database without Django; None where the worker alone writes (SQLite)."""
    if connection.vendor != "postgresql":
        return None
    params = connection.get_connection_params()
    return {name: value for name, value in params.items() if isinstance(value, (str, int))}


# The one that waits for the next pass of this worker.
_kept: list[LoopProcess] = []


def take_loop_process() -> LoopProcess:
    """The one that was kept, or a new one: it is the caller's alone until it is kept again."""
    process = _kept.pop() if _kept else None
    if process is not None and not process.is_alive:
        process.close()
        process = None
    return process or LoopProcess()


def keep_loop_process(process: LoopProcess) -> None:
    """For the next pass; one is enough."""
    process.on_death, process.used_at = _nothing, time.monotonic()
    if process.is_alive and not _kept:
        _kept.append(process)
    else:
        process.close()


def end_idle_loop_process(*, idle_for: float = KEPT) -> None:
    """Ends the one that was kept, when it had nothing to do for so many seconds."""
    if _kept and time.monotonic() - _kept[0].used_at >= idle_for:
        _kept.pop().close()


def _nothing() -> None:
    pass
