"""What happened for a reader since one looked last. Timelines and counts themselves are the record of it."""

from dataclasses import dataclass

from reader.models import Channel, Place, Reader
from reader.rules.order import MAX_LIMIT, Key, Stretch
from reader.timelines.pages import Timeline, newest_key, page_of, unread_counts

STARTED, RESET = "started", "reset"
NEW_ITEM, NEW_NOTIFICATION = "new-item", "new-notification"
CHANNEL_UPDATE, UNREAD_COUNT = "channel-update", "unread-count"


@dataclass(frozen=True, slots=True)
class Event:
    """`id` is the cursor of the newest post that was told by then.

    A new post has its place. UNREAD_COUNT has its channel with the number, CHANNEL_UPDATE and STARTED have
    all channels in their order. RESET has nothing: too much came at once, and the client should begin anew.
    """

    name: str
    id: str
    place: Place | None = None
    is_unread: bool = False
    channels: tuple[tuple[Channel, int], ...] = ()


class Watch:
    """One reader, from the newest post of now on, or from a post that they know.

    Posts come into timelines in the order of their moments, so what is newer than the newest is what is new.
    """

    def __init__(self, reader: Reader, since: Key | None = None, *, is_lost: bool = False) -> None:
        """`is_lost`: the client knows something, but nobody knows what."""
        self._reader = reader
        self._key = since or newest_key(Timeline(reader))
        self._is_lost = is_lost
        self._known: dict[str, tuple[Channel, int]] = {}

    def start(self) -> list[Event]:
        """What a stream begins with, and what the client has missed."""
        missed = self._posts()
        self._known = self._channels()
        started = Event(STARTED, str(self._key), channels=tuple(self._known.values()))
        return [started, *([Event(RESET, str(self._key))] if self._is_lost else missed)]

    def look(self, *, at_counts: bool) -> list[Event]:
        """What is new. Counts cost more than posts: one looks at them when asked to, or when a post came."""
        found = self._posts()
        if found or at_counts:
            found += self._changed_channels()
        return found

    def _posts(self) -> list[Event]:
        page = page_of(Timeline(self._reader), Stretch(newer_than=self._key, limit=MAX_LIMIT))
        if not page.paging.before:
            return []
        self._key = Key.read(page.paging.before)
        if page.paging.after:
            return [Event(RESET, str(self._key))]
        return [
            Event(
                NEW_NOTIFICATION if place.channel.is_notifications else NEW_ITEM,
                str(Key(place.at, place.pk)),
                place=place,
                is_unread=place.pk in page.unread,
            )
            for place in reversed(page.places)
        ]

    def _changed_channels(self) -> list[Event]:
        before, self._known = self._known, self._channels()
        now = tuple(self._known.values())
        if [_look_of(channel) for channel, _ in before.values()] != [_look_of(channel) for channel, _ in now]:
            return [Event(CHANNEL_UPDATE, str(self._key), channels=now)]
        return [
            Event(UNREAD_COUNT, str(self._key), channels=((channel, count),))
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
