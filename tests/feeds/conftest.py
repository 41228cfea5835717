from collections.abc import Iterator

import pytest

from tests.feeds.watched import Blog
from tests.servers.feed_server import FeedServer


@pytest.fixture
def server(loopback_allowed: None) -> Iterator[FeedServer]:
    with FeedServer() as running:
        yield running


@pytest.fixture
def blog(server: FeedServer, db: None) -> Blog:
    """Return a blog without posts, not watched yet."""
    return Blog(server)
