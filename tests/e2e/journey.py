"""The main job, however the stages run: a feed on loopback becomes a letter at an SMTP server."""

import subprocess
import sys
from collections.abc import Mapping

from tests import forks
from tests.e2e.processes import ROOT, clean_environment, manage
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer
from tests.servers.smtp_server import Received, SmtpServer

SECRET = "for-tests-only-" * 4
SITE = "https://blog.example.org"
OLD = {"guid": "old", "title": "Before", "link": f"{SITE}/old", "content": "<p>Long ago.</p>"}
NEW = {"guid": "new", "title": "First light", "link": f"{SITE}/new", "content": "<p>Hello.</p>"}
READER = "Ada <ada@example.org>"


class Blog(FeedServer):
    """Blog with one old post."""

    def __init__(self) -> None:
        super().__init__()
        self.posts = [OLD]
        self.feed = self.serve("/feed.xml", rss(self.posts, title="Starlight"))

    def publish(self, post: dict[str, str]) -> None:
        self.posts.insert(0, post)
        self.serve("/feed.xml", rss(self.posts, title="Starlight"))


def set_up(blog: Blog, environment: Mapping[str, str]) -> None:
    """Add a feed that pings, and a per-post newsletter with one reader."""
    feed = manage("add_feed", blog.feed, "--ping", environment=environment)
    assert feed["items_excluded"] == 1
    manage("define_subscribable", "starlight", "--feed", str(feed["id"]), environment=environment)
    manage("subscribe", "starlight", "--email", READER, environment=environment)


def ping(environment: Mapping[str, str]) -> None:
    """Make the feed due now, so that the poll worker need not wait for its minute to pass."""
    code = (
        "from common.clock import utcnow; from feeds.polling.poll import request_poll; "
        "print(request_poll(feed_ids=[1], now=utcnow()))"
    )
    command = [sys.executable, "manage.py", "shell", "--no-imports", "--command", code]
    environment = clean_environment(environment)
    done = forks.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, timeout=60, check=True)
    assert done.stdout.strip() == b"1"


def arrived(server: SmtpServer, seconds: float) -> Received:
    """Return the only letter, checked."""
    letter = server.wait_for(1, seconds)[0]
    assert letter.recipient == "ada@example.org"
    assert "First light" in letter.subject
    assert letter.email["List-Unsubscribe"]
    return letter
