"""Processes that sign messages. Imports no Django.

A signature takes five times as long as sending the message, and a process signs one at a time.
"""

import asyncio
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import count
from queue import SimpleQueue
from typing import Any

import uvloop
from django.db import connection

from channels.email.dkim.keys import SigningKey, from_pem, to_pem
from channels.email.mail_message import MailMessage
from common import clock
from common.child_process import FrameReader, messages, start
from delivery.engine.child import Child, prepare_child
from delivery.engine.child_protocol import (
    BeginPass,
    Closed,
    Died,
    FromChild,
    Permit,
    ToChild,
    frame,
    unpacked,
)

SIGNERS = min(os.cpu_count() or 1, 8)
# Seconds for a group of messages.
SIGNING_PATIENCE = 20.0
_CHUNK = 256 * 1024
# Pieces of a message, and numbers of its keys.
_Job = tuple[Sequence[bytes], Sequence[int]]
log = logging.getLogger(__name__)
# Seconds to keep an idle process.
IDLE_PROCESS_KEPT = 30.0
Hear = Callable[[FromChild | Died], None]


class Client:
    """The worker's side of a child."""

    # Whether the child records acceptances.
    records = False
    is_alive = True

    def __init__(self) -> None:
        prepare_child()
        self._lanes: dict[int, Hear] = {}
        self._numbers = count(1)

    def add_lane(self, hear: Hear) -> int:
        """Return the lane's number. `hear` is called in this object's thread.

        Its last call reports that the lane is closed or the child died.
        """
        number = next(self._numbers)
        self._lanes[number] = hear
        return number

    def say(self, message: ToChild) -> None:
        raise NotImplementedError

    def heads(self, mails: Sequence[MailMessage], now: datetime) -> Sequence[bytes | None]:
        """Return signatures and dates; None where one must be made by the caller."""
        return [None] * len(mails)

    def _tell(self, message: FromChild) -> None:
        is_last = isinstance(message, Closed)
        hear = self._lanes.pop(message.lane) if is_last else self._lanes[message.lane]
        hear(message)


class ChildThread(Client):
    """For few messages: a process would take longer to start than to send them."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        super().__init__()
        self._loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        self._child = Child(self._tell, clock)
        self._thread = threading.Thread(target=self._loop.run_forever, name="send loop", daemon=True)
        self._thread.start()

    def say(self, message: ToChild) -> None:
        self._loop.call_soon_threadsafe(self._child.hear, message)

    def close(self) -> None:
        """All lanes must be closed."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class ChildProcess(Client):
    def __init__(self) -> None:
        super().__init__()
        self._process, self._socket = start("delivery.engine.child", is_trusted=True)
        self._lock = threading.Lock()
        # From the first message with a key on.
        self._signers: Signers | None = None
        self.used_at = time.monotonic()
        self._thread = threading.Thread(target=self._listen, name="child process", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def begin_pass(self, permit: Permit) -> None:
        database = place_of_records()
        self.records = database is not None
        self.say(BeginPass(clock.since(), database))
        self.say(permit)

    def say(self, message: ToChild) -> None:
        """Send a message. Does nothing if the child is gone: each lane is notified.

        It counts as gone only once all its messages were read, as some may be acceptances.
        """
        with self._lock, suppress(OSError):
            self._socket.sendall(frame(message))

    def heads(self, mails: Sequence[MailMessage], now: datetime) -> Sequence[bytes | None]:
        """Return signatures and dates by processes that are kept; None where one must be made here."""
        with self._lock:
            signers = self._signers = self._signers or Signers()
        try:
            return signers.heads(mails, now)
        except OSError:
            log.exception("messages are signed by the worker: a process that signs is gone")
            with self._lock:
                if self._signers is signers:
                    self._signers = None
                    signers.close()
            return [None] * len(mails)

    def close(self) -> None:
        if self._signers is not None:
            self._signers.close()
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._process.wait()
        self._socket.close()

    def _listen(self) -> None:
        try:
            for message in unpacked(messages(self._socket)):
                self._tell(message)
        except OSError:
            log.debug("the child process went")
        finally:
            self.is_alive = False
            for number, hear in list(self._lanes.items()):
                hear(Died(number))


def place_of_records() -> dict[str, Any] | None:
    """Return psycopg's connection parameters; None on SQLite, where only the worker writes."""
    if connection.vendor != "postgresql":
        return None
    params = connection.get_connection_params()
    return {name: value for name, value in params.items() if isinstance(value, (str, int))}


# Idle process for the next pass.
_kept: list[ChildProcess] = []


def take_child_process() -> ChildProcess:
    process = _kept.pop() if _kept else None
    if process is not None and not process.is_alive:
        process.close()
        process = None
    return process or ChildProcess()


def keep_child_process(process: ChildProcess) -> None:
    process.used_at = time.monotonic()
    if process.is_alive and not _kept:
        _kept.append(process)
    else:
        process.close()


def end_idle_child_process(*, idle_for: float = IDLE_PROCESS_KEPT) -> None:
    if _kept and time.monotonic() - _kept[0].used_at >= idle_for:
        _kept.pop().close()


class Signers:
    """Processes that are started and end together. Each serves one thread at a time."""

    def __init__(self) -> None:
        self._all = [Signer() for _ in range(SIGNERS)]
        self._free: SimpleQueue[Signer] = SimpleQueue()
        for signer in self._all:
            self._free.put(signer)

    def heads(self, mails: Sequence[MailMessage], now: datetime) -> list[bytes | None]:
        """Return each message's signatures and date, or None for one that can't be signed.

        Raises OSError if the process has ended or does not answer.
        """
        signer = self._free.get()
        try:
            return signer.heads(mails, now)
        finally:
            self._free.put(signer)

    def close(self) -> None:
        for signer in self._all:
            signer.line.close()
            signer.process.kill()
            signer.process.wait()


class Signer:
    def __init__(self) -> None:
        self.process, self.line = start("delivery.engine.child_client", is_trusted=True)
        self.line.settimeout(SIGNING_PATIENCE)
        # Kept, so that ids of keys are not reused.
        self._keys: dict[int, SigningKey] = {}

    def heads(self, mails: Sequence[MailMessage], now: datetime) -> list[bytes | None]:
        keys = {id(key): key for mail in mails for key in mail.signing_keys}
        new = {
            number: (key.domain, key.selector, to_pem(key.private))
            for number, key in keys.items()
            if number not in self._keys
        }
        self._keys |= keys
        jobs: list[_Job] = [(mail.pieces, [id(key) for key in mail.signing_keys]) for mail in mails]
        self.line.sendall(frame((new, jobs, now)))
        frames = FrameReader()
        while octets := self.line.recv(_CHUNK):
            for answer in unpacked(frames.read(octets)):
                return list(answer)
        raise OSError("A process that signs has ended.")


def serve(line: socket.socket) -> None:
    """Serve until the worker closes the socket."""
    # The worker decides when to stop, even when the whole process group is signalled.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    keys: dict[int, SigningKey] = {}
    for new, jobs, now in unpacked(messages(line)):
        for number, (domain, selector, pem) in new.items():
            keys[number] = SigningKey(domain, selector, from_pem(pem))
        line.sendall(frame([_head(job, keys, now) for job in jobs]))


def _head(job: _Job, keys: Mapping[int, SigningKey], now: datetime) -> bytes | None:
    pieces, numbers = job
    try:
        return MailMessage("", "", "", pieces, tuple(keys[number] for number in numbers)).head(now)
    except Exception:  # noqa: BLE001 - the worker tries, and says what is wrong
        return None
