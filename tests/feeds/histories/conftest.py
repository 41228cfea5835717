from collections.abc import Callable, Iterator

import pytest

from tests.feeds.histories.history import History, Stage, play
from tests.servers.feed_server import FeedServer


@pytest.fixture(scope="module")
def feed_server() -> Iterator[FeedServer]:
    with FeedServer() as running:
        yield running


@pytest.fixture(name="play")
def player(feed_server: FeedServer, loopback_allowed: None, db: None) -> Callable[[History], Stage]:
    feed_server.clear()
    return lambda history: play(history, feed_server)
