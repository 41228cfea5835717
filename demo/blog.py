from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from demo.content import BLOG_POSTS, LIGHTHOUSE_POSTS, LIVE
from demo.content.post import CORRECTED_AFTER, WITHDRAWN_AFTER, ZONE, Post

TITLE = "Harbour Notes"
LIGHTHOUSE = "The Lighthouse Log"
MOTTO = "Small observations from a small harbour"
IN_FEED = 15
LIVE_EVERY = timedelta(minutes=3)
FIRST_LIVE_AFTER = timedelta(minutes=1)
# Limits a demo that runs for weeks.
MOST_LIVE = 60


@dataclass(frozen=True, slots=True)
class Page:
    slug: str
    title: str
    author: str
    body: str
    published: datetime
    tags: tuple[str, ...] = ()
    scene: str = ""
    alt: str = ""


class Blog:
    """Sample blog with dates relative to `today`; after `live_from`, a note every three minutes."""

    def __init__(self, today: date, live_from: datetime | None = None) -> None:
        self.today, self.live_from = today, live_from

    def pages(self, now: datetime) -> list[Page]:
        pages = [page for post in BLOG_POSTS if (page := self._page(post, now))]
        return sorted([*pages, *self._live(now)], key=lambda page: page.published, reverse=True)

    def lighthouse(self, now: datetime) -> list[Page]:
        """Return the posts of the neighbours' blog."""
        found = [page for post in LIGHTHOUSE_POSTS if (page := self._page(post, now))]
        return sorted(found, key=lambda page: page.published, reverse=True)

    def days_ago(self, now: datetime) -> int:
        return (self.today - now.astimezone(ZONE).date()).days

    def moments(self) -> list[datetime]:
        return [post.published(self.today) for post in BLOG_POSTS]

    def _page(self, post: Post, now: datetime) -> Page | None:
        published = post.published(self.today)
        age = now - published
        if age < timedelta() or (post.withdrawn and age >= WITHDRAWN_AFTER):
            return None
        body = post.first_body if post.first_body and age < CORRECTED_AFTER else post.body
        return Page(post.slug, post.title, post.author, body, published, post.tags, post.scene, post.alt)

    def _live(self, now: datetime) -> Iterator[Page]:
        if self.live_from is None:
            return
        newest = (now - self.live_from - FIRST_LIVE_AFTER) // LIVE_EVERY
        for number in range(max(0, newest + 1 - MOST_LIVE), newest + 1):
            note = LIVE[number % len(LIVE)]
            published = self.live_from + FIRST_LIVE_AFTER + number * LIVE_EVERY
            title = note.title.format(at=f"{published.astimezone(ZONE):%H:%M}")
            slug = f"note-{published:%Y%m%d-%H%M}"
            yield Page(slug, title, note.author, note.body, published, ("notes",), note.scene, note.alt)
