"""A feed is read by one worker at a time, and a late one stores nothing."""

import threading
import time
from datetime import datetime
from itertools import count
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from feeds.adding.edit import alter_feed
from feeds.models import Feed, Host, Item
from feeds.polling import poll_pass
from feeds.polling.claims import FEED_LEASE, claim_feeds, renew
from feeds.polling.poll import poll_due, poll_feed
from feeds.polling.record import TAKEN_OVER, PollResult
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


def late(blog: Blog, meanwhile: Any) -> PollResult:
    """A poll during whose fetch something else happens."""

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


@pytest.mark.django_db(transaction=True)
def test_a_pass_that_waits_long_for_an_answer_keeps_its_feed(
    server: FeedServer, transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(poll_pass, "RENEW_EVERY", 0)
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


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_two_workers_claim_different_feeds(server: FeedServer, transactional_db: None) -> None:
    urls = [server.serve(path, rss([])) for path in ("/one.xml", "/two.xml")]
    one, two = (FeedFactory(url=url, next_poll_at=at(number)) for number, url in enumerate(urls, -2))

    def hold() -> int:
        return Feed.objects.select_for_update().get(pk=one.pk).pk

    held, read = beside(hold, lambda: due(0), blocks=False)
    assert (held, read) == (one.pk, [two.pk])
    assert due(0) == [one.pk]
