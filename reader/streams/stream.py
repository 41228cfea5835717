"""Each stream occupies a thread and a database connection.

Clients beyond READER_STREAMS per process have to poll.
"""

import hashlib
import json
import logging
import select
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import Error
from django.db.models import Count, Max
from django.http import HttpRequest

from common.counters import count
from common.refused import Refused
from common.shutdown import stopping
from reader.models import Channel, Follow, Reader, TimelineEntry
from reader.rules.order import MAX_LIMIT, BadCursor, Key
from reader.timelines.pages import Timeline, arrivals, channels_with_unread, newest_key, with_entries

STARTED, RESET = "started", "reset"
NEW_ITEM, NEW_NOTIFICATION = "new-item", "new-notification"
CHANNEL_UPDATE, UNREAD_COUNT = "channel-update", "unread-count"
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


@dataclass(frozen=True, slots=True)
class Event:
    """Its `id` names the state after it, or is "".

    Posts have a place, UNREAD_COUNT a channel and number, CHANNEL_UPDATE and STARTED all channels in order.
    On RESET clients should reload: more changed than a few new posts on top.
    """

    name: str
    id: str
    place: TimelineEntry | None = None
    is_unread: bool = False
    channels: tuple[tuple[Channel, int], ...] = ()


class Watch:
    """Watch from now, or from an event.

    Posts on top of a channel are announced in order of arrival. Other changes (new follows, mutes, filters,
    moved feeds) are a RESET, as their posts may be old, read and many.
    """

    def __init__(
        self, reader: Reader, since: Key | None = None, *, state: str = "", is_lost: bool = False
    ) -> None:
        """`since` and `state` come from the client's last event id, unless it `is_lost` (invalid)."""
        self._reader = reader
        self._key, self._state = since or newest_key(Timeline(reader), "came_at"), state
        self._is_new, self._is_lost = since is None, is_lost
        self._known: dict[str, tuple[Channel, int]] = {}

    @classmethod
    def after(cls, reader: Reader, last_id: str) -> "Watch":
        """Watch from the event with this id, or from now."""
        try:
            since = Key.read(last_id) if last_id else None
        except BadCursor:
            return cls(reader, is_lost=True)
        return cls(reader, since, state=last_id.rpartition("_")[0])

    def start(self) -> list[Event]:
        """Return all channels, then missed events.

        The first repeats the client's id, as the connection may break before the others are sent.
        """
        known = "" if self._is_lost else self._id()
        posts = self._posts()
        self._known = self._channels()
        is_reset = self._has_new_state() or posts is None or self._is_lost
        if self._is_new and not self._is_lost and posts == []:
            # Without a state, changes during a disconnection would be missed.
            known = self._id()
        started = Event(STARTED, known, channels=tuple(self._known.values()))
        return [started, *([Event(RESET, self._id())] if is_reset else self._announced(posts or []))]

    def look(self, *, at_counts: bool) -> list[Event]:
        """Counts and settings are slow: compared only with new posts, or `at_counts`."""
        posts = self._posts()
        if posts == [] and not at_counts:
            return []
        before, self._known = self._known, self._channels()
        is_reset = self._has_new_state() or posts is None
        events = [Event(RESET, self._id())] if is_reset else self._announced(posts or [])
        return events + self._changed_channels(before)

    def _posts(self) -> list[Key] | None:
        """Return None for too many, or some not on top."""
        rows = arrivals(self._reader, self._key, limit=MAX_LIMIT + 1)
        if len(rows) > MAX_LIMIT:
            self._key = newest_key(Timeline(self._reader), "came_at")
            return None
        if rows:
            self._key = rows[-1][0]
        return [key for key, _ in rows] if all(is_on_top for _, is_on_top in rows) else None

    def _announced(self, keys: list[Key]) -> list[Event]:
        places, unread = with_entries([key.place for key in keys]) if keys else ((), frozenset())
        by_place = {key.place: key for key in keys}
        return [
            Event(
                NEW_NOTIFICATION if place.channel.is_notifications else NEW_ITEM,
                self._id(by_place[place.pk]),
                place=place,
                is_unread=place.pk in unread,
            )
            for place in places
        ]

    def _id(self, key: Key | None = None) -> str:
        return f"{self._state}_{key or self._key}".lstrip("_")

    def _has_new_state(self) -> bool:
        """Return whether the timelines changed otherwise.

        Called after reading posts, so that a change which brought them is noticed.
        """
        before, self._state = self._state, self._state_of(row for row, _ in self._known.values())
        return before not in ("", self._state)

    def _state_of(self, channels: Iterable[Channel]) -> str:
        """Digest of follows, mutes, filters and withdrawals, at a cost independent of posts."""
        follows = Follow.objects.of(self._reader).order_by("pk").values_list("pk", "channel")
        # Keys grow: deletion changes the count, insertion the maximum.
        mutes = self._reader.mutes.aggregate(Count("pk"), Max("pk"))
        filters = sorted(
            (row.pk, str(row.filters), row.ask_below) for row in channels if row.filters or row.ask_below
        )
        version = Reader.objects.filter(pk=self._reader.pk).values_list("timeline_version", flat=True).first()
        state = f"{list(follows)} {mutes} {filters} {version}"
        return hashlib.sha256(state.encode()).hexdigest()[:8]

    def _changed_channels(self, before: dict[str, tuple[Channel, int]]) -> list[Event]:
        now = tuple(self._known.values())
        if [_look_of(channel) for channel, _ in before.values()] != [_look_of(channel) for channel, _ in now]:
            return [Event(CHANNEL_UPDATE, self._id(), channels=now)]
        return [
            Event(UNREAD_COUNT, self._id(), channels=((channel, count),))
            for channel, count in now
            if count != before[channel.uid][1] and channel.unread_mode != Channel.UnreadMode.OFF
        ]

    def _channels(self) -> dict[str, tuple[Channel, int]]:
        return {line[0].uid: line for line in channels_with_unread(self._reader)}


def _look_of(channel: Channel) -> tuple[str, str, str]:
    return channel.uid, channel.name, channel.unread_mode


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
