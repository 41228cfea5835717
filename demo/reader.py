"""Feeds, channels and picks of the demo's admin as a reader."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User

from demo.pages import feed_path
from feeds.models import Feed
from feeds.polling.poll import poll_due
from reader.channels.channels import add_channel, channel_of
from reader.channels.filters import change_filters
from reader.channels.follows import follow_address, follow_feed
from reader.entries.place import place_due
from reader.models import Reader, TimelineEntry
from reader.people.picks import annotate, open_picks
from reader.people.readers import add_reader
from reader.timelines.marks import mark_read
from reader.timelines.pages import Timeline

READER_NAME, PICKS_TITLE = "ada", "Ada’s picks"
# Channels by tag; Home has the rest of the blog.
CHANNELS = {"boatyard": "Boatyard", "bakery": "Bakery"}
# Categories are lines.
ELSEWHERE = f"/(?m)^({'|'.join(CHANNELS)})$/"


@dataclass(frozen=True, slots=True)
class Picked:
    slug: str
    days_ago: int
    note: str = ""
    tags: str = ""


PICKS = (
    Picked("the-ferry-comes-in-backwards", 34, "Twice I thought that we left again.", "ferry"),
    Picked("counting-boats", 31, "The rafts built by children have a row in the table. More of this!"),
    Picked("the-lamp-at-the-end", 27, "The best budget meeting that I have read about.", "light"),
    Picked("four-white-flashes", 26, "Others to compare: https://lights.example.org/", "light, lighthouse"),
    Picked("what-the-sea-brought", 24),
    Picked("the-mail-sack", 20, "One envelope a month, in violet ink. I don’t want to know more.", "ferry"),
    Picked("one-hundred-and-nineteen-steps", 17, tags="lighthouse"),
    Picked("fog-signals", 16, "Five short blasts. I have used them in two meetings since.", "weather, words"),
    Picked("high-water", 12, "They say in the note that they corrected it, and how. Do the same.", "words"),
    Picked("the-door-number-17", 10, "The story of the blue door ends well. Bring a handkerchief."),
    Picked("a-bird-in-the-lantern", 8, "I hope that it is well, and far from any lens.", "lighthouse, birds"),
    Picked("a-timetable-for-light", 6, tags="light"),
    Picked("the-choir-rehearses", 3, "Could somebody record this, please? With the echo.", "music"),
)


def begin_to_read(user: User, feeds: Iterable[Feed], *, clock: Callable[[], datetime]) -> Reader:
    """Make a reader of these feeds, with public picks."""
    reader = add_reader(name=READER_NAME, username=user.get_username(), now=clock())
    reader.picks, reader.picks_title = Reader.Picks.PUBLIC, PICKS_TITLE
    open_picks(reader=reader, now=clock())
    home = change_filters(channel=channel_of(reader, "home"), hide=[ELSEWHERE])
    for feed in feeds:
        follow_feed(channel=home, feed=feed, clock=clock)
    return reader


def pick(reader: Reader, picked: Picked, now: datetime) -> None:
    """Read a post, star it and write about it."""
    places = TimelineEntry.objects.seen().filter(reader=reader, entry__jf2__url__endswith=f"/{picked.slug}/")
    place = places.order_by("pk")[0]
    annotate(reader=reader, entry=place.entry_id, note=picked.note, tags=picked.tags, now=now)
    mark_read(Timeline(reader), [place.pk])


def add_channels(reader: Reader, blog_url: str, *, clock: Callable[[], datetime]) -> None:
    """Follow the blog by tag, with unread posts (network)."""
    for tag, name in CHANNELS.items():
        follow_address(
            channel=add_channel(reader=reader, name=name), url=f"{blog_url}{feed_path(tag)}", clock=clock
        )
    poll_due(clock=clock)
    place_due(clock=clock)
