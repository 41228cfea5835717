"""Sites with feeds, as people add them to the bot."""

from datetime import UTC, datetime, timedelta

from django.utils.feedgenerator import Rss201rev2Feed

from tests.servers.feed_server import FeedServer

BEGAN = datetime(2026, 3, 1, 8, tzinfo=UTC)


def serve_feed(
    site: FeedServer, path: str = "/feed.xml", *, posts: int = 3, title: str = "Bees", began: datetime = BEGAN
) -> str:
    """Serve a feed whose newest post has the highest number."""
    feed = Rss201rev2Feed(title, site.url("/"), "About bees")
    for number in range(posts, 0, -1):
        feed.add_item(
            f"Post {number}",
            site.url(f"/posts/{number}"),
            f"The text of post {number}.",
            unique_id=f"post-{number}",
            pubdate=began + timedelta(hours=number),
        )
    return site.serve(path, feed.writeString("utf-8"), headers={"Content-Type": "application/rss+xml"})


def serve_page(site: FeedServer, *paths: str) -> str:
    """Serve a home page that links to these feeds."""
    links = "".join(
        f'<link rel="alternate" type="application/rss+xml" title="Feed {path}" href="{path}">'
        for path in paths
    )
    page = f"<html><head><title>Bees</title>{links}</head><body><p>Welcome.</p></body></html>"
    return site.serve("/", page, headers={"Content-Type": "text/html"})
