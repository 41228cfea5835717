"""The main job: a feed on loopback becomes a letter at an SMTP server, whoever runs the stages."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.e2e.processes import manage
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer
from tests.servers.smtp_server import Received, SmtpServer

SECRET = "for-tests-only-" * 4
LINK = "https://blog.example.org/one"
POST = {"guid": "one", "title": "First light", "link": LINK, "content": "<p>Hello.</p>"}
READER = "Ada <ada@example.org>"


@contextmanager
def blog(*items: Mapping[str, object]) -> Iterator[str]:
    """The address of a feed with these posts."""
    with FeedServer() as server:
        yield server.serve("/feed.xml", rss(items or [POST], title="Starlight"))


def set_up(feed_url: str, environment: Mapping[str, str]) -> None:
    """A feed that pings, with all its posts to send, and a newsletter of each post with one reader."""
    feed = manage("add_feed", feed_url, "--ping", "--all", environment=environment)
    manage("define_subscribable", "starlight", "--feed", str(feed["id"]), environment=environment)
    manage("subscribe", "starlight", "--email", READER, environment=environment)


def arrived(server: SmtpServer, seconds: float) -> Received:
    """The one letter, checked."""
    letter = server.wait_for(1, seconds)[0]
    assert letter.recipient == "ada@example.org"
    assert "First light" in letter.subject
    assert letter.email["List-Unsubscribe"]
    return letter
