from collections.abc import Callable
from typing import Any

import pytest

from feeds.models import Feed
from reader.models import Channel, Reader, TimelineEntry
from tests.factories import FeedFactory
from tests.reader.greader.client import GoogleApp
from tests.reader.posts import an_entry, put

SECOND_DATABASE = False


@pytest.fixture
def app(ada: Reader) -> GoogleApp:
    return GoogleApp(ada)


@pytest.fixture
def feed(home: Channel) -> Feed:
    """Return a feed that Ada follows in Home."""
    made: Feed = FeedFactory(title="Blog")
    home.follows.create(feed=made)
    return made


@pytest.fixture
def post(home: Channel, feed: Feed) -> Callable[..., TimelineEntry]:
    """Return a function that puts a post of the feed into Home, or another channel."""

    def one(channel: Channel | None = None, **given: Any) -> TimelineEntry:
        fields = {name: given.pop(name) for name in ("jf2", "published") if name in given}
        entry = given.pop("entry", None) or an_entry(feed=feed, **fields)
        return put(channel or home, entry, **given)

    return one
