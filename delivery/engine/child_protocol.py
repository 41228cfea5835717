"""What the engine and its loop process say to each other: pickled tuples, each after its length.

Pickle, because nobody else can write into the pair of sockets between them.
"""

import pickle
import struct
from collections.abc import Iterator
from typing import Any

_LENGTH = struct.Struct("!I")


def frame(*words: Any) -> bytes:
    """One message: its name, and what it says."""
    said = pickle.dumps(words, protocol=5)
    return _LENGTH.pack(len(said)) + said


class FrameReader:
    """Puts the pieces that arrive together again."""

    def __init__(self) -> None:
        self._unread = bytearray()

    def read(self, octets: bytes) -> Iterator[tuple[Any, ...]]:
        """The messages that are whole by now."""
        self._unread += octets
        at, view = 0, memoryview(self._unread)
        try:
            while (size := self._size(at)) is not None:
                at += _LENGTH.size
                yield pickle.loads(view[at : at + size])  # noqa: S301 - from our own process
                at += size
        finally:
            view.release()
            del self._unread[:at]

    def _size(self, at: int) -> int | None:
        if len(self._unread) < at + _LENGTH.size:
            return None
        (size,) = _LENGTH.unpack_from(self._unread, at)
        return int(size) if len(self._unread) >= at + _LENGTH.size + size else None
