"""The transaction of a poll, and the work that is done before it to keep it short."""

from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from feeds.models import Feed, FeedDocument, Item
from feeds.parsing.document import parse
from feeds.polling import read, store
from feeds.polling.poll import poll_feed
from tests.feeds.watched import Blog, at, post
from tests.servers.documents import rss


class Cleaning:
    """Cleaner that changes nothing, and records its input and whether a transaction was open."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.inside = False
        self.depth = len(connection.atomic_blocks)

    def __call__(self, html: str, *, base: str) -> str:
        self.seen += [html] if html else []
        self.inside = self.inside or len(connection.atomic_blocks) > self.depth
        return html


@pytest.fixture
def cleaning(monkeypatch: pytest.MonkeyPatch, db: None) -> Cleaning:
    watching = Cleaning()
    monkeypatch.setattr(read, "clean", watching)
    return watching


def test_only_new_and_changed_html_is_cleaned_and_before_the_transaction(
    blog: Blog, cleaning: Cleaning
) -> None:
    blog.show("b", "a")
    blog.watch()
    blog.read(0)
    assert cleaning.seen == [], "what is excluded is not cleaned"
    blog.show("c", "b", "a")
    blog.read(10)
    blog.show("d", post("c", content="<p>c2</p>"), "b", "a")
    blog.read(20)
    assert sorted(cleaning.seen) == ["<p>c2</p>", "<p>c</p>", "<p>d</p>"]
    assert not cleaning.inside


def test_html_is_stored_without_a_first_heading_that_is_the_title(blog: Blog) -> None:
    blog.show(post("a", title="Said twice", content="<h1>Said twice</h1><p>Body</p>"))
    blog.watch(start="all")
    blog.read(0)
    entry = blog.item("a").entry
    assert entry is not None
    assert entry["content"] == "<p>Body</p>"


def test_html_is_stored_safe_and_absolute(blog: Blog) -> None:
    blog.show(post("a", content='<script>1</script><a href="/x">x</a>'))
    blog.watch(start="all")
    blog.read(0)
    entry = blog.item("a").entry
    assert entry is not None
    assert "script" not in entry["content"]
    assert 'href="https://blog.example.org/x"' in entry["content"]


def test_the_last_document_is_kept_with_its_order_newest_first(blog: Blog) -> None:
    dated = [post(name, published=at(day)) for day, name in enumerate("abc")]
    blog.show(*dated)
    blog.watch(start="all")
    blog.read(0)
    document = FeedDocument.objects.get(feed=blog.feed)
    hashes = [blog.item(guid).guid_hash[:32] for guid in "cba"]
    assert bytes(document.order).hex() == "".join(hashes), "by their dates, the last entry is the newest"
    assert document.headers["url"] == blog.feed.url
    assert document.fetched_at == at(0)


def test_in_a_feed_that_appends_the_first_entries_roll_off(blog: Blog) -> None:
    dated = [post(name, published=at(day)) for day, name in enumerate("abcd")]
    blog.show(*dated[:3])
    blog.watch(start="all")
    blog.read(0)
    blog.show(*dated[1:])
    assert blog.read(10).vanished == 0
    blog.show(dated[1], dated[3])
    assert blog.read(20).vanished == 1
    assert blog.item("c").vanished_at == at(20)


def queries(blog: Blog, minutes: float) -> int:
    with CaptureQueriesContext(connection) as caught:
        blog.read(minutes)
    return len(caught)


@pytest.mark.slow
def test_a_poll_asks_no_more_when_the_feed_has_a_long_past(blog: Blog) -> None:
    blog.show("b", "a")
    blog.watch()
    blog.read(0)
    blog.show("c", "b", "a")
    blog.read(10)
    blog.show("d", "c", "b", "a")
    few = queries(blog, 20)
    past: dict[str, Any] = {"first_seen": at(0), "stable_since": at(0), "last_checked": at(0)}
    Item.objects.bulk_create(
        Item(feed=blog.feed, guid=f"past {n}", guid_hash=f"{n:064}", state="cleared", **past)
        for n in range(3000)
    )
    blog.show("e", "d", "c", "b", "a")
    assert queries(blog, 30) == few


def statements(blog: Blog, *posts: dict[str, Any] | str, minutes: float) -> list[str]:
    """Return the statements for storing a document."""
    body = rss([post(one) if isinstance(one, str) else one for one in posts])
    parsed = parse(body, content_type="", url=blog.feed.url)
    last = FeedDocument.objects.defer("body").get()
    brought = read.Reading(body, str(minutes), {}, blog.feed.url, at(minutes), parsed, last=last)
    with CaptureQueriesContext(connection) as caught, transaction.atomic():
        store.store(blog.feed, brought, store.prepare(blog.feed, brought))
    return [query["sql"] for query in caught if not query["sql"].startswith(("BEGIN", "SAVE", "RELEASE"))]


def test_a_new_post_costs_few_statements(blog: Blog) -> None:
    blog.show("b", "a")
    blog.watch()
    blog.read(0)
    assert len(statements(blog, "c", "b", "a", minutes=10)) == 9
    dated = [post(name, published=at(0)) for name in ("c", "b", "a")]
    more = statements(blog, post("d", published=at(10)), *dated, minutes=20)
    assert len(more) == 11, "two for what waits, and to confirm it; but no dates to ask for"


def test_new_posts_cost_as_many_statements_as_one(blog: Blog) -> None:
    blog.show("b", "a")
    blog.watch()
    blog.read(0)
    names = [f"new {n}" for n in range(10)]
    assert len(statements(blog, *names, "b", "a", minutes=10)) == 9


def test_an_unchanged_body_costs_as_much_however_many_posts_wait(blog: Blog) -> None:
    blog.show("a")
    blog.watch(start="all")
    blog.read(0)
    one = queries(blog, 10)
    blog.show(*[f"post {n}" for n in range(100)])
    blog.read(20)
    assert queries(blog, 25) == one


def test_a_poll_that_fails_in_its_transaction_stores_nothing_of_it(
    blog: Blog, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    blog.show("a")
    blog.watch(start="all")
    monkeypatch.setattr(store, "describe", None)
    result = poll_feed(feed_id=blog.feed.pk, now=at(0))
    assert result is not None
    assert result.error == (
        "Reading the feed failed in an unforeseen way (TypeError). It is tried again later."
    )
    assert not Item.objects.exists()
    feed = Feed.objects.get()
    assert (feed.first_polled_at, feed.fetched_through, feed.last_error) == (None, None, result.error)
