"""Feeds and channels of the demo's admin as a reader."""

from collections.abc import Callable
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
from reader.people.readers import add_reader
from reader.timelines.stars import star

READER_NAME = "ada"
# Channels by tag; Home has the rest of the blog.
CHANNELS = {"boatyard": "Boatyard", "bakery": "Bakery"}
# Categories are lines.
ELSEWHERE = f"/(?m)^({'|'.join(CHANNELS)})$/"


def begin_to_read(user: User, feed: Feed, blog_url: str, *, clock: Callable[[], datetime]) -> Reader:
    """Make a reader with unread posts and a star (network)."""
    reader = add_reader(name=READER_NAME, username=user.get_username(), now=clock())
    for tag, name in CHANNELS.items():
        follow_address(
            channel=add_channel(reader=reader, name=name), url=f"{blog_url}{feed_path(tag)}", clock=clock
        )
    home = change_filters(channel=channel_of(reader, "home"), hide=[ELSEWHERE])
    follow_feed(channel=home, feed=feed, clock=clock)
    poll_due(clock=clock)
    place_due(clock=clock)
    oldest = TimelineEntry.objects.seen().filter(reader=reader).order_by("at", "pk").first()
    if oldest is not None:
        star(reader=reader, entries=[oldest.entry_id], now=clock())
    return reader
