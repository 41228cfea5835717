"""Processes that sign messages. Imports no Django.

A signature takes five times as long as sending the message, and a process signs one at a time.
"""

import os
import signal
import socket
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import count

from channels.email.dkim.keys import SigningKey, from_pem, to_pem
from channels.email.mail_message import MailMessage
from common.child_process import FrameReader, messages, start
from delivery.engine.child_protocol import frame, unpacked

# Sending takes the rest of a small machine.
SIGNERS = min(max((os.cpu_count() or 1) - 1, 1), 8)
# Seconds for a group of messages.
PATIENCE = 20.0
_CHUNK = 256 * 1024
# Pieces of a message, and numbers of its keys.
_Job = tuple[Sequence[bytes], Sequence[int]]


class Signers:
    """Processes that are started and end together."""

    def __init__(self, number: int = SIGNERS) -> None:
        self._started = [start("delivery.engine.signers", is_trusted=True) for _ in range(number)]
        for _, line in self._started:
            line.settimeout(PATIENCE)
        self._lock = threading.Lock()
        # Kept, so that ids of keys are not reused.
        self._keys: dict[int, tuple[int, SigningKey]] = {}
        self._numbers = count()

    def heads(self, mails: Sequence[MailMessage], now: datetime) -> list[bytes | None]:
        """Return each message's signatures and date, or None for one that can't be signed.

        Raises OSError if a process has ended or does not answer.
        """
        with self._lock:
            new: dict[int, tuple[str, str, str]] = {}
            for key in {id(key): key for mail in mails for key in mail.signing_keys}.values():
                if id(key) not in self._keys:
                    number = next(self._numbers)
                    self._keys[id(key)] = number, key
                    new[number] = key.domain, key.selector, to_pem(key.private)
            jobs: list[_Job] = [
                (mail.pieces, [self._keys[id(key)][0] for key in mail.signing_keys]) for mail in mails
            ]
            lines = [line for _, line in self._started]
            for at, line in enumerate(lines):
                line.sendall(frame((new, jobs[at :: len(lines)], now)))
            heads: list[bytes | None] = [None] * len(mails)
            for at, line in enumerate(lines):
                heads[at :: len(lines)] = _answer(line)
            return heads

    def close(self) -> None:
        for process, line in self._started:
            line.close()
            process.kill()
            process.wait()


def _answer(line: socket.socket) -> list[bytes | None]:
    frames = FrameReader()
    while octets := line.recv(_CHUNK):
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
