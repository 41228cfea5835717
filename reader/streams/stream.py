"""Each stream occupies a thread and a database connection.

Clients beyond READER_STREAMS per process have to poll.
"""

import json
import logging
import select
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.conf import settings
from django.db import Error
from django.http import HttpRequest

from common.counters import count
from common.refused import Refused
from common.shutdown import stopping
from reader.models import Reader
from reader.streams.watch import Event, Watch

log = logging.getLogger(__name__)

STREAMS_A_PERSON = 2
# Seconds.
LOOKED_EVERY, COUNTED_EVERY, PINGED_EVERY, ALLOWED_EVERY = 1.0, 5.0, 15.0, 60.0
# Frees the thread for others; the client reconnects without losing events.
LONGEST = 600.0
COMES_BACK_AFTER, TRIES_AGAIN_AFTER = 5, 60
# Proxies must not buffer.
STREAM_HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache",
    "X-Accel-Buffering": "no",
}
# Proxies cut connections that are idle for a minute.
PING = b": ping\n\n"
# The peer closed its side (Linux).
_GONE = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR

_open: Counter[int] = Counter()
_lock = threading.Lock()


class TooManyStreams(Refused):
    pass


class Stream:
    """Must be closed, even if never read."""

    def __init__(
        self,
        request: HttpRequest,
        reader: Reader,
        *,
        say: Callable[[Event], Mapping[str, Any]],
        is_allowed: Callable[[], bool],
    ) -> None:
        """Occupy a slot. Raises TooManyStreams."""
        self._reader_id, self._is_closed = reader.pk, False
        self._watch = Watch.after(reader, request.headers.get("Last-Event-ID", ""))
        self._say, self._is_allowed, self._has_left = say, is_allowed, whether_left(request.META)
        # Last: nothing would give it back after an error.
        _occupy_slot(reader.pk)

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._messages()
        except Error as error:
            log.warning("a stream ended because the database is unreachable: %s", error)
        finally:
            self.close()

    def close(self) -> None:
        with _lock:
            if self._is_closed:
                return
            self._is_closed = True
            _open[self._reader_id] -= 1
            _open[self._reader_id] or _open.pop(self._reader_id)
        count("streams", "ended")

    def _messages(self) -> Iterator[bytes]:
        yield b"retry: %d\n\n" % (COMES_BACK_AFTER * 1000) + b"".join(map(self._written, self._watch.start()))
        opened = counted = allowed = spoke = time.monotonic()
        # Reacts at once when the process stops.
        while not stopping.wait(LOOKED_EVERY):
            now = time.monotonic()
            if now - opened >= LONGEST or self._has_left():
                return
            if now - allowed >= ALLOWED_EVERY:
                if not self._is_allowed():
                    return
                allowed = now
            at_counts = now - counted >= COUNTED_EVERY
            counted = now if at_counts else counted
            if events := self._watch.look(at_counts=at_counts):
                yield b"".join(map(self._written, events))
                spoke = now
            elif now - spoke >= PINGED_EVERY:
                yield PING
                spoke = now

    def _written(self, event: Event) -> bytes:
        """Write it as HTML standard §9.2.5 says."""
        data = json.dumps(self._say(event), ensure_ascii=False, separators=(",", ":"))
        id_line = f"id: {event.id}\n" if event.id else ""
        return f"event: {event.name}\n{id_line}data: {data}\n\n".encode("utf-8", "replace")


def whether_left(environ: Mapping[str, Any]) -> Callable[[], bool]:
    """Without gunicorn always False."""
    connection = environ.get("gunicorn.socket")
    if connection is None:
        return lambda: False
    poller = select.poll()
    poller.register(connection, _GONE)
    return lambda: bool(poller.poll(0))


def _occupy_slot(reader_id: int) -> None:
    with _lock:
        is_full = _open.total() >= settings.READER_STREAMS
        if is_full or _open[reader_id] >= STREAMS_A_PERSON:
            count("streams", "refused")
            what = "All streams are in use." if is_full else f"You have {STREAMS_A_PERSON} streams open."
            raise TooManyStreams(f"{what} Poll for new posts, and try a stream again later.")
        _open[reader_id] += 1
    count("streams", "opened")
