"""Posts in channels, without feeds."""

from datetime import datetime, timedelta
from itertools import count

from reader.entries.place import NewTimelineEntry, insert_timeline_entries
from reader.models import Channel, Entry, TimelineEntry
from reader.rules.jf2 import author_key, searched_text
from tests.factories import NOW

_numbers = count()


def an_entry(*, author: str = "", link_hash: str = "", **fields: object) -> Entry:
    """Return a complete entry that was placed; `author` is a URL."""
    name = f"Post {next(_numbers)}"
    jf2 = {"type": "entry", "name": name, "published": NOW.isoformat(), "content": {"text": name}}
    entry: Entry = Entry.objects.create(
        **{
            "hash": "0" * 64,
            "jf2": jf2,
            "text": searched_text(jf2),
            "kind": "article",
            "seen_at": NOW,
            "placed_at": NOW,
            "author_key": author_key(author),
            "link_hash": link_hash,
            **fields,
        }
    )
    return entry


def put(
    channel: Channel,
    entry: Entry | None = None,
    *,
    at: datetime = NOW,
    is_unread: bool = True,
    came_at: datetime | None = None,
) -> TimelineEntry:
    """Put a post into a channel; `came_at` is its arrival, if not `at`."""
    entry = entry or an_entry()
    row = NewTimelineEntry(entry, channel, at, is_unread, hidden=TimelineEntry.Hidden.SEEN)
    insert_timeline_entries([row], now=came_at or at)
    return entry.places.get(channel=channel)


def minutes(number: float) -> datetime:
    return NOW + timedelta(minutes=number)
