import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, Max

from reader.models import Channel, Follow, Reader, TimelineEntry
from reader.rules.order import MAX_LIMIT, BadCursor, Key
from reader.timelines.pages import arrivals, channels_with_unread, newest_arrival, with_entries

STARTED, RESET = "started", "reset"
NEW_ITEM, NEW_NOTIFICATION = "new-item", "new-notification"
CHANNEL_UPDATE, UNREAD_COUNT = "channel-update", "unread-count"


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
        self._key, self._state = since or newest_arrival(reader), state
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
            self._key = newest_arrival(self._reader)
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
