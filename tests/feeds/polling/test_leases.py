"""A feed is read by one worker at a time, and a late one stores nothing.

The transaction of a poll, and the work that is done before it to keep it short.
"""

import threading
import time
from datetime import datetime
from itertools import count
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from common.net.client import client as shared_client
from feeds.adding.add import alter_feed
from feeds.models import Feed, FeedDocument, Host, Item, Poll
from feeds.parsing.document import parse
from feeds.polling import poll, store
from feeds.polling import read as read_module
from feeds.polling.claims import (
    FEED_LEASE,
    asks,
    claim_feed,
    claim_feeds,
    claim_hosts,
    release_feeds,
    release_hosts,
    renew,
    wake,
)
from feeds.polling.poll import poll_due, poll_feed
from feeds.polling.read import Reading, read
from feeds.polling.record import TAKEN_OVER, record_all
from tests.factories import FeedFactory
from tests.feeds.watched import Blog, at, post
from tests.races import beside
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer, Reply, Request


def due(minutes: float, **options: Any) -> list[int]:
    return [result.feed_id for result in poll_due(clock=lambda: at(minutes), **options)]


def leased(feed: Feed, until: datetime) -> None:
    Feed.objects.filter(pk=feed.pk).update(lease_token=uuid4(), lease_until=until)


def test_a_leased_feed_is_left_to_its_worker_until_the_lease_is_over(blog: Blog) -> None:
    feed = blog.watch()
    leased(feed, at(2))
    assert due(1) == []
    assert due(1, ignore_due=True) == []
    assert poll_feed(feed_id=feed.pk, now=at(1)) is None
    assert due(2.1) == [feed.pk]


def late(blog: Blog, meanwhile: Any) -> Poll:
    """Poll while `meanwhile` runs during the fetch."""

    def reply(request: Request) -> Reply:
        done = threading.Thread(target=closing, args=(meanwhile,))
        done.start()
        done.join(10)
        return Reply(rss([post("a")]))

    blog.server.answer(blog.path, reply)
    result = poll_feed(feed_id=blog.feed.pk, now=at(0))
    assert result is not None
    return result


def closing(act: Any) -> None:
    try:
        act()
    finally:
        connection.close()


@pytest.mark.django_db
def test_leases_are_extended_by_whoever_holds_them_alone() -> None:
    ours, theirs = FeedFactory(host="one.example"), FeedFactory(host="two.example")
    token = uuid4()
    claim_feeds(Feed.objects.filter(pk=ours.pk), token, at(0))
    Host.objects.create(name="one.example", lease_token=token, lease_until=at(0))
    Host.objects.create(name="two.example", lease_token=uuid4(), lease_until=at(0))
    leased(theirs, at(0))
    renew(token=token, hosts=["one.example", "two.example"], feeds=[ours.pk, theirs.pk], now=at(1))
    assert dict(Feed.objects.values_list("pk", "lease_until")) == {
        ours.pk: at(1) + FEED_LEASE,
        theirs.pk: at(0),
    }
    assert list(Host.objects.order_by("name").values_list("lease_until", flat=True)) == [
        at(1) + FEED_LEASE,
        at(0),
    ]


@pytest.mark.django_db
def test_a_lease_ends_by_its_own_token_alone() -> None:
    feed = FeedFactory(host="one.example")
    leased(feed, at(2))
    Host.objects.create(name="one.example", lease_token=uuid4(), lease_until=at(2))
    release_feeds(token=uuid4(), feeds=[feed.pk])
    release_hosts(token=uuid4(), hosts=["one.example"], free_at=at(9))
    assert list(Feed.objects.unleased(at(1))) == []
    host = Host.objects.get()
    assert (host.lease_token is None, host.lease_until, host.free_at) == (False, at(2), None)


@pytest.mark.django_db(transaction=True)
def test_a_pass_that_waits_long_for_an_answer_keeps_its_feed(
    server: FeedServer, transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(poll, "RENEW_EVERY", 0)
    blog, minutes, kept = Blog(server), count(), list[bool]()
    blog.watch()

    def lease_until() -> datetime | None:
        return Feed.objects.values_list("lease_until", flat=True).get()

    def look() -> None:
        first, end = lease_until(), time.monotonic() + 5
        while lease_until() == first and time.monotonic() < end:
            time.sleep(0.02)
        kept.append(lease_until() != first)

    def reply(request: Request) -> Reply:
        asked = threading.Thread(target=closing, args=(look,))
        asked.start()
        asked.join(10)
        return Reply(rss([]))

    blog.server.answer(blog.path, reply)
    poll_due(clock=lambda: at(next(minutes)))
    assert kept == [True]


@pytest.mark.django_db(transaction=True)
def test_a_late_worker_whose_lease_was_taken_stores_nothing(
    server: FeedServer, transactional_db: None
) -> None:
    blog = Blog(server)
    feed = blog.watch(start="all")
    result = late(blog, lambda: leased(feed, at(9)))
    assert (result.ok, result.error) == (False, TAKEN_OVER)
    feed.refresh_from_db()
    assert not Item.objects.exists()
    assert (feed.first_polled_at, feed.lease_until) == (None, at(9))


@pytest.mark.django_db(transaction=True)
def test_what_the_old_address_said_is_not_stored_after_a_change_of_address(
    server: FeedServer, transactional_db: None
) -> None:
    blog = Blog(server)
    feed = blog.watch(start="all")
    late(blog, lambda: alter_feed(feed=feed, url=server.url("/moved.xml")))
    feed.refresh_from_db()
    assert not Item.objects.exists()
    assert (feed.first_polled_at, feed.url) == (None, server.url("/moved.xml"))


@pytest.mark.django_db(transaction=True)
def test_a_feed_dropped_while_it_is_read_stays_away(server: FeedServer, transactional_db: None) -> None:
    blog = Blog(server)
    feed = blog.watch(start="all")
    assert not late(blog, lambda: Feed.objects.filter(pk=feed.pk).delete()).ok
    assert not Item.objects.exists()


@pytest.mark.django_db
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_two_workers_claim_different_feeds(server: FeedServer, transactional_db: None) -> None:
    urls = [server.serve(path, rss([])) for path in ("/one.xml", "/two.xml")]
    one, two = (FeedFactory(url=url, next_poll_at=at(number)) for number, url in enumerate(urls, -2))

    def hold() -> int:
        return Feed.objects.select_for_update().get(pk=one.pk).pk

    held, read = beside(hold, lambda: due(0), blocks=False)
    assert (held, read) == (one.pk, [two.pk])
    assert due(0) == [one.pk]


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_one_of_two_workers_gets_a_feed_and_one_its_host() -> None:
    feed = FeedFactory(host="one.example")
    Host.objects.create(name="one.example")

    def claims() -> Feed | None:
        return claim_feed(Feed.objects.unleased(at(0)), at(0))

    def hosts() -> int:
        wanted = {"one.example": [feed.pk]}
        return len(claim_hosts(wanted, Feed.objects.unleased(at(0)), token=uuid4(), now=at(0)))

    assert beside(claims, claims, blocks=False) == (feed, None)
    assert beside(hosts, hosts, blocks=False) == (1, 0)


def answered(blog: Blog, minutes: float) -> tuple[Feed, Reading]:
    """Claim the blog's feed and fetch it; nothing is recorded yet."""
    feed = claim_feed(Feed.objects.filter(pk=blog.feed.pk), at(minutes))
    assert feed is not None
    (ask,) = asks([feed], at(minutes))
    return feed, read(ask, shared_client(), lambda: at(minutes))[feed.pk]


@pytest.mark.django_db
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
@pytest.mark.parametrize("answer", ["new", "quiet", "failed"])
def test_what_is_recorded_while_another_worker_takes_the_feed_is_not_stored(
    server: FeedServer, transactional_db: None, answer: str
) -> None:
    blogs = [Blog(server, path) for path in ("/one.xml", "/two.xml")]
    for blog in blogs:
        blog.watch(start="all")
        blog.read(0)
        if answer == "new":
            blog.show("a")
        elif answer == "failed":
            blog.serve("", status=500)
    every = [answered(blog, 10) for blog in blogs]
    taken, other = (blog.feed for blog in blogs)
    _, results = beside(lambda: leased(taken, at(99)), lambda: record_all(every))
    assert [result.error == TAKEN_OVER for result in results] == [True, False]
    assert not Item.objects.filter(feed=taken).exists()
    taken.refresh_from_db()
    other.refresh_from_db()
    assert (taken.last_polled_at, taken.lease_until) == (at(0), at(99))
    assert (other.last_polled_at, other.lease_until) == (at(10), None)


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_feeds_that_are_being_recorded_are_not_waited_for_when_their_host_is_back() -> None:
    waiting = {"host": "one.example", "failures": 1, "next_poll_why": "probe", "next_poll_at": at(60)}
    recorded, other = FeedFactory(**waiting), FeedFactory(**waiting)

    def record() -> Feed:
        return Feed.objects.select_for_update().get(pk=recorded.pk)

    assert beside(record, lambda: wake(hosts=["one.example"], now=at(0)), blocks=False)[1] == 1
    assert list(Feed.objects.filter(next_poll_at=at(0))) == [other]


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
    monkeypatch.setattr(read_module, "clean", watching)
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
    brought = read_module.Reading(body, str(minutes), {}, blog.feed.url, at(minutes), parsed, last=last)
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
