"""A blog on loopback and the feed that watches it, on a clock of minutes."""

from datetime import UTC, datetime, timedelta
from typing import Any

from feeds.adding.add import add_feed
from feeds.models import Feed, Item, Poll
from feeds.polling.poll import poll_feed
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer

ADDED = datetime(2026, 5, 1, 12, tzinfo=UTC)


def at(minutes: float) -> datetime:
    """Return the time so many minutes after the adding."""
    return ADDED + timedelta(minutes=minutes)


def post(name: str, **changes: Any) -> dict[str, Any]:
    """Return a post without a date; `changes` are fields of `tests.servers.documents.rss`."""
    link = f"https://blog.example.org/{name}"
    return {"guid": name, "link": link, "title": f"Post {name}", "content": f"<p>{name}</p>", **changes}


class Blog:
    """Blog: add it with `watch`, change it with `show`, and `poll` it at a minute."""

    def __init__(self, server: FeedServer, path: str = "/feed.xml") -> None:
        self.server, self.path = server, path
        self.show()

    def show(self, *posts: dict[str, Any] | str, **channel: Any) -> None:
        """Publish the posts, newest first; a string is the name of a post."""
        items = [post(one) if isinstance(one, str) else one for one in posts]
        self.serve(rss(items, **channel))

    def serve(self, body: bytes | str, **reply: Any) -> None:
        self.server.serve(self.path, body, **reply)

    def watch(self, **options: Any) -> Feed:
        self.feed = add_feed(url=self.server.url(self.path), now=ADDED, **options)
        return self.feed

    def poll(self, minutes: float) -> Poll:
        result = poll_feed(feed_id=self.feed.pk, now=at(minutes))
        assert result is not None
        self.feed.refresh_from_db()
        return result

    def read(self, minutes: float) -> Poll:
        """Poll; assert success."""
        result = self.poll(minutes)
        assert result.ok, result.error
        return result

    def item(self, guid: str) -> Item:
        return Item.objects.get(feed=self.feed, guid=guid)

    def states(self) -> dict[str, str]:
        return dict(Item.objects.filter(feed=self.feed).values_list("guid", "state"))

    def final(self) -> set[str]:
        return set(Item.objects.final().filter(feed=self.feed).values_list("guid", flat=True))
