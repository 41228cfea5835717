"""What happened for a reader since one looked last. Timelines and counts themselves are the record of it."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, Max

from reader.models import Channel, Follow, Reader, TimelineEntry
from reader.rules.order import MAX_LIMIT, BadCursor, Key
from reader.timelines.pages import arrivals, newest_arrival, unread_counts, with_entries

STARTED, RESET = "started", "reset"
NEW_ITEM, NEW_NOTIFICATION = "new-item", "new-notification"
CHANNEL_UPDATE, UNREAD_COUNT = "channel-update", "unread-count"


@dataclass(frozen=True, slots=True)
class Event:
    """`id` names how far the reader's events were sent, this one included; "" where that is unknown.

    A new post has its place. UNREAD_COUNT has its channel with the number, CHANNEL_UPDATE and STARTED have
    all channels in their order. RESET has nothing: the timelines changed in another way than by a few new
    posts on top, and the client should ask for them anew.
    """

    name: str
    id: str
    place: TimelineEntry | None = None
    is_unread: bool = False
    channels: tuple[tuple[Channel, int], ...] = ()


class Watch:
    """One reader, from the newest post of now on, or from an event that they know.

    A post that was placed on top of a channel is announced by itself, in the order in which posts came. Any
    other change of timelines (the posts of a feed that is followed newly, mutes, filters, moved feeds) is
    announced by RESET: these posts may be old, read, and many.
    """

    def __init__(
        self, reader: Reader, since: Key | None = None, *, state: str = "", is_lost: bool = False
    ) -> None:
        """`since` and `state` are in the id of the last event that the client knows.

        `is_lost`: the client knows one, but its id names nothing.
        """
        self._reader = reader
        self._key, self._state = since or newest_arrival(reader), state
        self._is_new, self._is_lost = since is None, is_lost
        self._known: dict[str, tuple[Channel, int]] = {}

    @classmethod
    def after(cls, reader: Reader, last_id: str) -> "Watch":
        """From the event with that id on; from now on where it is empty."""
        try:
            since = Key.read(last_id) if last_id else None
        except BadCursor:
            return cls(reader, is_lost=True)
        return cls(reader, since, state=last_id.rpartition("_")[0])

    def start(self) -> list[Event]:
        """Return the first events of a stream: all channels, and what the client has missed.

        The id of the first is what the client knew before: the connection may break before the others are
        sent.
        """
        known = "" if self._is_lost else self._id()
        posts = self._posts()
        self._known = self._channels()
        is_reset = self._take_state() or posts is None or self._is_lost
        if self._is_new and not self._is_lost and posts == []:
            # Without a state before, a change while the client is away would be missed.
            known = self._id()
        started = Event(STARTED, known, channels=tuple(self._known.values()))
        return [started, *([Event(RESET, self._id())] if is_reset else self._announced(posts or []))]

    def look(self, *, at_counts: bool) -> list[Event]:
        """Return what is new.

        Counts and settings cost more than posts: they are compared when asked to, or when a post came.
        """
        posts = self._posts()
        if posts == [] and not at_counts:
            return []
        before, self._known = self._known, self._channels()
        is_reset = self._take_state() or posts is None
        events = [Event(RESET, self._id())] if is_reset else self._announced(posts or [])
        return events + self._changed_channels(before)

    def _posts(self) -> list[Key] | None:
        """The keys of new posts. None: there are too many, or not all of them are on top."""
        found = arrivals(self._reader, self._key, limit=MAX_LIMIT + 1)
        if len(found) > MAX_LIMIT:
            self._key = newest_arrival(self._reader)
            return None
        if found:
            self._key = found[-1][0]
        return [key for key, _ in found] if all(is_on_top for _, is_on_top in found) else None

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

    def _take_state(self) -> bool:
        """Whether something else than new posts changed what timelines show, since the state known before.

        Read after the posts: a change that brought one of them is seen.
        """
        before, self._state = self._state, self._state_of(row for row, _ in self._known.values())
        return before not in ("", self._state)

    def _state_of(self, channels: Iterable[Channel]) -> str:
        """A digest of what is followed, muted, filtered and withdrawn, none of which grows with the posts."""
        follows = Follow.objects.of(self._reader).order_by("pk").values_list("pk", "channel")
        # (Keys only grow: one that goes changes the count, one that comes the largest.)
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
        rows = list(self._reader.channels.order_by("-is_notifications", "position", "pk"))
        counts = unread_counts([row.pk for row in rows])
        return {row.uid: (row, counts.get(row.pk, 0)) for row in rows}


def _look_of(channel: Channel) -> tuple[str, str, str]:
    """What clients show of it beside the number."""
    return channel.uid, channel.name, channel.unread_mode
