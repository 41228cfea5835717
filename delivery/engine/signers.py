"""Processes that sign messages. Imports no Django.

A signature takes five times as long as sending the message, and a process signs one at a time.
"""

import os
import signal
import socket
from collections.abc import Mapping, Sequence
from datetime import datetime
from queue import SimpleQueue

from channels.email.dkim.keys import SigningKey, from_pem, to_pem
from channels.email.mail_message import MailMessage
from common.child_process import FrameReader, messages, start
from delivery.engine.child_protocol import frame, unpacked

SIGNERS = min(os.cpu_count() or 1, 8)
# Seconds for a group of messages.
SIGNING_PATIENCE = 20.0
_CHUNK = 256 * 1024
# Pieces of a message, and numbers of its keys.
_Job = tuple[Sequence[bytes], Sequence[int]]


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
        self.process, self.line = start("delivery.engine.signers", is_trusted=True)
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
