"""Child processes that run our own modules: limits, framed messages, a deadline. Imports no Django.

A child runs `serve(line)` of its module, where `line` is a socket, and ends when the line does.
"""

import os
import resource
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

ENDING_SECONDS = 0.5
_CHUNK = 256 * 1024
_SIZE = struct.Struct("!I")
_ROOT = str(Path(__file__).resolve().parents[1])
_BOOT = "import socket, sys; sys.path.insert(0, sys.argv[1]); import {0}; {0}.serve(socket.socket(fileno=0))"
# An interpreter may need these to start. Others may be secrets.
_KEPT = ("PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TZDIR")


def start(module: str, *, is_trusted: bool = False) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Return the process and our end of the line. Only a trusted one gets our environment and output."""
    ours, theirs = socket.socketpair()
    output = None if is_trusted else subprocess.DEVNULL
    with theirs:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own module
            [sys.executable, "-I", "-B", "-c", _BOOT.format(module), _ROOT],
            stdin=theirs.fileno(),
            stdout=output,
            stderr=output,
            env=None if is_trusted else {name: os.environ[name] for name in _KEPT if name in os.environ},
            # Ctrl-C must not reach it.
            start_new_session=not is_trusted,
        )
    return process, ours


class Child:
    """A child that knows no secret, and answers what it is asked."""

    def __init__(self, module: str) -> None:
        self.process, self._line = start(module)

    def ask(self, job: bytes, *, seconds: float, most: int) -> Iterator[bytes]:
        """Yield its answers, of `most` octets in all, until it ends. Raises OSError, such as TimeoutError."""
        until, frames = time.monotonic() + seconds, FrameReader()
        self._line.settimeout(seconds)
        self._line.sendall(framed(job))
        while (left := until - time.monotonic()) > 0:
            self._line.settimeout(left)
            octets = self._line.recv(_CHUNK)
            if not octets:
                return
            most -= len(octets)
            if most < 0:
                raise OSError("The answer is too large.")
            yield from frames.read(octets)
        raise TimeoutError

    def close(self) -> int:
        """End it, leave no zombie, and return its status: negative for a signal, 0 if it still ran."""
        self._line.close()
        # When the line broke, it is about to end by itself, with a status that says why.
        try:
            return self.process.wait(ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return 0

    def forget(self) -> None:
        """Call after a fork: it is our parent's child."""
        self._line.close()
        self.process.returncode = 0


def set_limits(limits: Mapping[int, int]) -> None:
    """Set each RLIMIT_…, at most to its hard limit, and disable core dumps."""
    for limit, value in {resource.RLIMIT_CORE: 0, **limits}.items():
        _, most = resource.getrlimit(limit)
        value = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(limit, (value, value))


def framed(message: bytes) -> bytes:
    return _SIZE.pack(len(message)) + message


def messages(line: socket.socket) -> Iterator[bytes]:
    """Yield messages until the line ends."""
    frames = FrameReader()
    while octets := line.recv(_CHUNK):
        yield from frames.read(octets)


class FrameReader:
    """Reassembles messages from a stream of octets."""

    def __init__(self) -> None:
        self._unread = bytearray()

    def read(self, octets: bytes) -> list[bytes]:
        """Return the complete messages."""
        self._unread += octets
        complete, at = [], 0
        with memoryview(self._unread) as view:
            while len(view) >= (start := at + _SIZE.size):
                end = start + _SIZE.unpack_from(view, at)[0]
                if len(view) < end:
                    break
                complete.append(bytes(view[start:end]))
                at = end
        del self._unread[:at]
        return complete
