"""The demo's sample blog: its posts by date, its feed and its pictures."""

from datetime import UTC, date, datetime, timedelta

import pytest

from demo import images, pages
from demo.blog import IN_FEED, LIVE_EVERY, Blog
from demo.content import BLOG_POSTS, CORRECTED, WITHDRAWN
from demo.scenes import SCENES
from demo.server import BlogServer
from feeds.parsing.document import parse
from tests.e2e.processes import answers

TODAY = date(2026, 3, 31)
NOW = datetime(2026, 3, 31, 10, 17, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def titles(now: datetime) -> list[str]:
    return [page.title for page in Blog(TODAY).pages(now)]


def test_a_post_appears_is_corrected_or_withdrawn_in_its_time() -> None:
    blog = Blog(TODAY)
    published = CORRECTED.published(TODAY)
    assert CORRECTED.title not in titles(published - MINUTE)
    bodies = [blog.pages(published + age * MINUTE)[0].body for age in (0, 11, 12)]
    assert bodies == [CORRECTED.first_body, CORRECTED.first_body, CORRECTED.body]
    gone = WITHDRAWN.published(TODAY)
    assert WITHDRAWN.title in titles(gone + 19 * MINUTE)
    assert WITHDRAWN.title not in titles(gone + 20 * MINUTE)


def test_the_feed_reads_well_and_says_the_same_for_the_same_posts() -> None:
    shown = Blog(TODAY).pages(NOW)
    body = pages.feed(shown, "http://127.0.0.1:1")
    assert body == pages.feed(shown, "http://127.0.0.1:1")
    parsed = parse(body, content_type="application/rss+xml", url="http://127.0.0.1:1/feed.xml")
    assert parsed.warnings == ()
    assert [entry.title for entry in parsed.entries] == [page.title for page in shown[:IN_FEED]]
    for entry, page in zip(parsed.entries, shown, strict=False):
        assert (entry.published, entry.authors, entry.categories) == (
            page.published,
            (page.author,),
            page.tags,
        )


def test_a_new_note_appears_every_three_minutes_and_their_number_is_bounded() -> None:
    blog = Blog(TODAY, live_from=NOW)
    before, later = blog.pages(NOW), blog.pages(NOW + 2 * LIVE_EVERY)
    assert len(later) == len(before) + 2
    assert later[0].published > NOW
    month = blog.pages(NOW + timedelta(days=30))
    assert len(month) < 100
    assert len({page.slug for page in month}) == len(month)


def test_the_sample_blog_answers_on_loopback() -> None:
    server = BlogServer(Blog(TODAY), lambda: NOW)
    with server.in_thread():
        assert answers(f"{server.url}/")
        assert answers(f"{server.url}/{CORRECTED.slug}/")
        assert not answers(f"{server.url}/{WITHDRAWN.slug}/")
        assert answers(f"{server.url}/images/{CORRECTED.slug}.jpg")


@pytest.mark.parametrize("scene", SCENES)
def test_pictures_are_small_and_come_with_words(scene: str) -> None:
    picture = images.jpeg(scene, "seed")
    assert picture.startswith(b"\xff\xd8")
    assert len(picture) < 30_000
    assert picture == images.jpeg.__wrapped__(scene, "seed")
    assert all(post.alt and post.scene in SCENES for post in BLOG_POSTS if post.scene)
