"""Simultaneous requests to a host and their spacing, over all feeds, threads and workers."""

import threading
import time
from datetime import timedelta
from statistics import median
from typing import Any

import pytest
from django.db import connections

from feeds.models import Feed, Host, Poll
from feeds.polling.poll import poll_due
from feeds.polling.read import UNEXPECTED, Ask, Reading, fetch
from tests.factories import FeedFactory
from tests.feeds.watched import at
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer, Reply, Request

BODY = rss([])


class Busy:
    """Server that counts simultaneous requests, and records their times."""

    def __init__(self, server: FeedServer, seconds: float = 0.0) -> None:
        self.server, self.seconds = server, seconds
        self.most, self.now, self.lock = 0, 0, threading.Lock()
        self.came: list[float] = []

    def feeds(self, count: int, **fields: Any) -> list[Feed]:
        urls = [self.server.answer(f"/{number}.xml", self.answer) for number in range(count)]
        return [FeedFactory(url=url, next_poll_at=at(0), **fields) for url in urls]

    def answer(self, request: Request) -> Reply:
        with self.lock:
            self.now += 1
            self.came.append(time.monotonic())
            self.most = max(self.most, self.now)
        time.sleep(self.seconds)
        with self.lock:
            self.now -= 1
        return Reply(BODY)

    @property
    def gaps(self) -> list[float]:
        return [later - earlier for earlier, later in zip(self.came, self.came[1:], strict=False)]


@pytest.fixture
def busy(server: FeedServer) -> Busy:
    return Busy(server, seconds=0.03)


def poll(minutes: float = 0) -> list[Poll]:
    return poll_due(clock=lambda: at(minutes))


def test_a_host_gets_so_many_requests_at_a_time(busy: Busy, settings: Any, db: None) -> None:
    settings.POLL_HOST_REQUESTS = 3
    busy.feeds(12)
    assert len(poll()) == 12
    assert busy.most == 3


def test_two_requests_to_a_host_keep_the_gap(busy: Busy, settings: Any, db: None) -> None:
    settings.POLL_HOST_GAP = 0.05
    busy.feeds(8)
    assert len(poll()) == 8
    # They are counted on arrival, a little after they were sent.
    assert median(busy.gaps) > 0.04


def test_other_hosts_do_not_wait_for_a_slow_one(settings: Any, loopback_allowed: None, db: None) -> None:
    settings.POLL_HOST_REQUESTS, settings.POLL_HOST_GAP = 1, 0.05
    with FeedServer("127.0.0.2") as slow, FeedServer("127.0.0.3") as quick:
        slow_ones, quick_ones = Busy(slow, 0.1), Busy(quick, 0.0)
        slow_ones.feeds(5)
        quick_ones.feeds(5)
        assert len(poll()) == 10
    assert quick_ones.came[-1] < slow_ones.came[-1]


def test_the_gap_holds_from_one_pass_to_the_next(busy: Busy, settings: Any, db: None) -> None:
    settings.POLL_HOST_GAP = 0.3
    _, second = busy.feeds(2)
    Feed.objects.filter(pk=second.pk).update(next_poll_at=at(1))
    poll()
    assert Host.objects.get().free_at == at(0) + timedelta(seconds=0.3)
    poll_due(clock=lambda: at(0) + timedelta(seconds=0.1), ignore_due=True)
    # In the second pass there is a wait of 0.2 s before the first request, and the gap after it.
    assert busy.gaps[0] > 0.15


@pytest.mark.django_db(transaction=True)
def test_a_host_that_another_worker_reads_is_left_to_it(busy: Busy, settings: Any) -> None:
    settings.POLL_HOST_REQUESTS = 2
    busy.feeds(40)
    results: list[list[Poll]] = []

    def work() -> None:
        try:
            results.append(poll())
        finally:
            connections.close_all()

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    assert sorted(map(len, results)) == [0, 0, 40]
    assert busy.most == 2
    assert set(Host.objects.values_list("lease_token", flat=True)) == {None}


def test_a_host_that_says_we_ask_too_often_is_asked_for_nothing_more(
    server: FeedServer, settings: Any, db: None
) -> None:
    settings.POLL_HOST_REQUESTS = 1
    feeds = []
    for number in range(5):
        url = server.serve(f"/{number}.xml", b"", status=429, headers={"Retry-After": "600"})
        feeds.append(FeedFactory(url=url, next_poll_at=at(number - 5)))
    assert [result.feed_id for result in poll()] == [feeds[0].pk]
    assert len(server.requests) == 1
    assert poll(5) == []
    server.serve("/1.xml", BODY)
    assert [result.feed_id for result in poll(10)][:1] == [feeds[1].pk]
    left = Feed.objects.filter(pk__in=[feed.pk for feed in feeds[2:]])
    assert set(left.values_list("lease_token", flat=True)) == {None}


def test_feeds_that_share_an_address_share_a_request(server: FeedServer, db: None) -> None:
    url = server.serve("/feed.xml", BODY)
    feeds = [FeedFactory(url=url, next_poll_at=at(0)) for _ in range(3)]
    assert [result.ok for result in poll()] == [True] * 3
    assert len(server.requests) == 1
    assert {Feed.objects.get(pk=feed.pk).fetched_through for feed in feeds} == {at(0)}


def test_a_feed_that_shares_an_address_is_read_with_the_one_that_is_due(server: FeedServer, db: None) -> None:
    url = server.serve("/feed.xml", BODY)
    FeedFactory(url=url, next_poll_at=at(0))
    other = FeedFactory(url=url, next_poll_at=at(5))
    assert len(poll()) == 2
    assert Feed.objects.get(pk=other.pk).next_poll_at == at(10)
    assert len(server.requests) == 1


def test_feeds_that_keep_different_documents_are_asked_without_a_condition(
    server: FeedServer, db: None
) -> None:
    url = server.serve("/feed.xml", BODY, headers={"ETag": '"one"'})
    FeedFactory(url=url, next_poll_at=at(0))
    poll()
    FeedFactory(url=url, next_poll_at=at(10))
    assert [result.ok for result in poll(10)] == [True, True]
    assert "if-none-match" not in server.requests[-1].headers
    poll(20)
    assert server.requests[-1].headers["if-none-match"] == '"one"'


def test_what_one_feed_has_as_credentials_is_not_shared(server: FeedServer, db: None) -> None:
    url = server.serve("/feed.xml", BODY)
    FeedFactory(url=url, next_poll_at=at(0), credentials={"user": "ada", "password": "secret"})
    FeedFactory(url=url, next_poll_at=at(0))
    poll()
    asked = [request.headers.get("authorization", "") for request in server.requests]
    assert sorted(asked) == ["", "Basic YWRhOnNlY3JldA=="]


def test_a_pass_that_is_over_gives_back_what_it_had_not_asked(busy: Busy, settings: Any, db: None) -> None:
    settings.POLL_HOST_REQUESTS = 1
    busy.feeds(30)
    # A busy machine needs longer for the first one.
    budgets = (timedelta(seconds=0.1 * 2**tried) for tried in range(6))
    read = next(filter(None, (poll_due(clock=lambda: at(0), budget=each) for each in budgets)))
    assert len(read) < 30
    assert not Feed.objects.exclude(lease_token=None).exists()
    assert not Host.objects.exclude(lease_token=None).exists()


@pytest.mark.django_db
def test_one_bad_answer_among_quiet_ones_stops_none_of_them(
    server: FeedServer, caplog: pytest.LogCaptureFixture
) -> None:
    good = [FeedFactory(url=server.serve(f"/{n}.xml", BODY), next_poll_at=at(0)) for n in range(4)]
    poll()
    server.serve("/1.xml", b"not a feed")
    server.serve("/2.xml", b"", status=500)
    assert [result.ok for result in poll(10)] == [True, False, False, True]
    read = Feed.objects.filter(failures=0).values_list("fetched_through", flat=True)
    assert (list(read), len(good)) == ([at(10), at(10)], 4)


@pytest.mark.django_db(transaction=True)
def test_a_feed_that_is_changed_while_it_is_read_stores_nothing(server: FeedServer) -> None:
    """The change removes the lease."""
    feeds = [FeedFactory(url=server.serve(f"/{n}.xml", BODY), next_poll_at=at(0)) for n in range(3)]

    def change(request: Request) -> Reply:
        try:
            Feed.objects.filter(pk=feeds[1].pk).update(lease_token=None, lease_until=None)
        finally:
            connections.close_all()
        return Reply(BODY)

    server.answer("/1.xml", change)
    assert [result.ok for result in poll()] == [True, False, True]
    assert Feed.objects.get(pk=feeds[1].pk).fetched_through is None


def test_an_error_that_nobody_foresaw_is_one_feeds_trouble(
    server: FeedServer, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    feeds = [FeedFactory(url=server.serve(f"/{n}.xml", BODY), next_poll_at=at(0)) for n in range(3)]

    def breaking(ask: Ask, *rest: Any) -> Reading:
        if ask.url == feeds[1].url:
            raise ZeroDivisionError
        return fetch(ask, *rest)

    monkeypatch.setattr("feeds.polling.read.fetch", breaking)
    assert [result.error for result in poll()] == ["", UNEXPECTED.format("ZeroDivisionError"), ""]
    broken = Feed.objects.get(pk=feeds[1].pk)
    assert (broken.failures, broken.last_polled_at, broken.lease_token) == (1, at(0), None)
