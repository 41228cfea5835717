"""Threads that fetch and parse. They never use the database."""

import logging
import queue
import time
import uuid
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from common.clock import utcnow
from common.net.client import SafeClient
from common.net.client import client as shared_client
from common.passes import TimeBudget
from feeds.addresses import host_of_url
from feeds.models import Feed, Poll
from feeds.models.feed import FeedQuerySet
from feeds.polling.claims import (
    FEED_LEASE,
    asks,
    claim_feed,
    claim_feeds,
    claim_hosts,
    release_feeds,
    release_hosts,
    renew,
)
from feeds.polling.known_items import chunks
from feeds.polling.read import Ask, Reading, ReadingFailed, pushed, read
from feeds.polling.record import record_all, record_push
from feeds.rules.pace import host_rests_until

REQUESTS_AHEAD = 2
log = logging.getLogger(__name__)
RENEW_EVERY = FEED_LEASE.total_seconds() / 4
# A killed pass should leave few leases.
FEEDS_OF_A_HOST = 32
HOSTS_AT_A_TIME = 32
MOST_IN_A_PASS = 20_000
LONGEST_PAUSE_SECONDS = 0.5
# Recording many together costs little more than one, but none may wait long.
RECORDED_TOGETHER = 64
UNRECORDED_SECONDS = 0.2
UNRECORDED_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class FetchedAsk:
    ask: Ask
    host: str
    readings: Mapping[int, Reading]

    @property
    def answer(self) -> Reading:
        """The reading of any of its feeds."""
        return next(iter(self.readings.values()))


class Fetchers:
    """`close` waits for running requests."""

    def __init__(self, threads: int, http: SafeClient, clock: Callable[[], datetime]) -> None:
        self._http, self._clock = http, clock
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="fetch")
        self._done: queue.SimpleQueue[FetchedAsk] = queue.SimpleQueue()
        self.threads, self.running = threads, 0

    @property
    def is_full(self) -> bool:
        # So that no thread waits for the polling pass.
        return self.running >= self.threads + REQUESTS_AHEAD

    def start(self, ask: Ask, host: str) -> None:
        self.running += 1
        self._executor.submit(
            lambda: self._done.put(FetchedAsk(ask, host, read(ask, self._http, self._clock)))
        )

    def finished(self, seconds: float) -> Iterator[FetchedAsk]:
        """Wait at most `seconds` for the first."""
        wait = seconds
        while self.running:
            try:
                done = self._done.get(timeout=wait) if wait > 0 else self._done.get_nowait()
            except queue.Empty:
                return
            self.running, wait = self.running - 1, 0
            yield done

    def close(self) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)


@dataclass
class HostQueue:
    """At most `width` at a time, `gap` seconds between two starts.

    `later`: feeds that are not claimed yet.
    """

    name: str
    width: int
    gap: float
    next_start: float
    asks: deque[Ask] = field(default_factory=deque)
    later: deque[int] = field(default_factory=deque)
    running: int = 0
    rests_until: datetime | None = None

    def next_ask(self, now: float) -> Ask | None:
        """`now` is on the monotonic clock."""
        if not self.asks or self.running >= self.width or now < self.next_start:
            return None
        self.running += 1
        self.next_start = now + self.gap
        return self.asks.popleft()


def poll_due(
    *,
    clock: Callable[[], datetime] = utcnow,
    ignore_due: bool = False,
    by_command: bool = False,
    budget: timedelta | None = None,
) -> list[Poll]:
    """Poll due feeds, longest due first, as the budget allows.

    A command includes feeds with recheck 0; `ignore_due` all that are watched.
    """

    def candidates(now: datetime, also: Collection[int]) -> FeedQuerySet:
        feeds = Feed.objects.watched().unleased(now)
        if ignore_due:
            return feeds
        due = Q(next_poll_at__lte=now)
        if by_command:
            due |= Q(recheck_every_minutes=0, failures=0)
        return feeds.filter(due | Q(pk__in=also) if also else due)

    return PollingPass(
        candidates, clock=clock, http=shared_client(), budget=TimeBudget(budget), heed_rests=not ignore_due
    ).run()


def poll_feed(*, feed_id: int, now: datetime, client: SafeClient | None = None) -> Poll | None:
    feed = claim_feed(Feed.objects.watched().filter(pk=feed_id).unleased(now), now)
    if feed is None:
        return None
    (ask,) = asks([feed], now)
    return record_all([(feed, read(ask, client or shared_client(), lambda: now)[feed.pk])])[0]


def push_feed(
    *, feed_id: int, body: bytes, headers: Mapping[str, str], moment: datetime, now: datetime
) -> Poll | None:
    feed = claim_feed(Feed.objects.watched().filter(pk=feed_id).unleased(now), now)
    if feed is None:
        return None
    try:
        return record_push(feed, pushed(feed.url, body, headers, moment))
    except ReadingFailed as error:
        return Poll(feed=feed, outcome=Poll.Outcome.FAILED, note=str(error))
    finally:
        if feed.lease_token:
            release_feeds(token=feed.lease_token, feeds=[feed_id])


def request_poll(*, feed_ids: Iterable[int], now: datetime) -> int:
    """Make feeds due unless they are backing off. Returns how many."""
    later = Feed.objects.later(now).filter(pk__in=list(feed_ids))
    # Runs every second; on SQLite even an empty UPDATE waits for the writer.
    if not later.exists():
        return 0
    with transaction.atomic():
        # Ordered to avoid deadlocks.
        pks = list(later.order_by("pk").select_for_update().values_list("pk", flat=True))
        return later.filter(pk__in=pks).update(next_poll_at=now, next_poll_why="hurry")


class PollingPass:
    """Leases hosts, fetches their feeds in threads, records in this one. Polls each candidate once.

    `candidates` returns feeds that may be read now, and any of some keys.
    """

    def __init__(
        self,
        candidates: Callable[[datetime, Collection[int]], FeedQuerySet],
        *,
        clock: Callable[[], datetime],
        http: SafeClient,
        budget: TimeBudget,
        heed_rests: bool,
    ) -> None:
        self._candidates, self._clock, self._http = candidates, clock, http
        self._budget, self._heed_rests = budget, heed_rests
        self._token = uuid.uuid4()
        self._waiting: dict[str, deque[int]] = {}
        self._hosts: dict[str, HostQueue] = {}
        self._feeds: dict[int, Feed] = {}
        self._sharers: set[int] = set()
        self._order: dict[int, int] = {}
        self._results: list[Poll] = []
        self._done: list[FetchedAsk] = []
        self._done_since = self._renewed_at = time.monotonic()

    def run(self) -> list[Poll]:
        self._waiting = self._due()
        if self._waiting:
            with closing(Fetchers(settings.POLL_THREADS, self._http, self._clock)) as fetchers:
                try:
                    self._work(fetchers)
                finally:
                    release_feeds(token=self._token, feeds=self._feeds)
                    self._leave(list(self._hosts))
        return sorted(self._results, key=lambda result: self._order[result.feed_id])

    def _due(self) -> dict[str, deque[int]]:
        now = self._clock()
        limit = MOST_IN_A_PASS if self._budget.is_limited else None
        candidates = self._candidates(now, ()).order_by("next_poll_at", "pk")
        rows = candidates.values_list("pk", "host", "url")[:limit]
        places = {pk: (host or host_of_url(url), url) for pk, host, url in rows.iterator()}
        sharers: dict[tuple[str, str], list[int]] = defaultdict(list)
        for chunk in chunks(list(set(places.values()))):
            hosts, urls = {host for host, _ in chunk}, [url for _, url in chunk]
            others = Feed.objects.watched().unleased(now).filter(host__in=hosts, url__in=urls, failures=0)
            for pk, host, url in others.values_list("pk", "host", "url"):
                if pk not in places:
                    sharers[host, url].append(pk)
        self._sharers = {pk for pks in sharers.values() for pk in pks}
        waiting: dict[str, deque[int]] = defaultdict(deque)
        for due, place in places.items():
            for pk in (due, *sharers.pop(place, ())):
                self._order[pk] = len(self._order)
                waiting[place[0]].append(pk)
        return dict(waiting)

    def _work(self, fetchers: Fetchers) -> None:
        while True:
            may_start = not self._budget.is_spent
            if may_start:
                self._refill()
                self._claim(fetchers)
            while may_start:
                may_start = False
                for host in self._hosts.values():
                    if not fetchers.is_full and (ask := host.next_ask(time.monotonic())):
                        fetchers.start(ask, host.name)
                        may_start = True
            if time.monotonic() - self._renewed_at > RENEW_EVERY:
                self._renewed_at = time.monotonic()
                renew(token=self._token, hosts=self._hosts, feeds=self._feeds, now=self._clock())
            for done in fetchers.finished(self._pause(fetchers)):
                self._take_in(done)
            self._record(all_done=not fetchers.running)
            self._leave(
                [name for name, host in self._hosts.items() if not (host.asks or host.running or host.later)]
            )
            if not fetchers.running and not self._done:
                if self._budget.is_spent or not (self._waiting or self._hosts):
                    return
                time.sleep(self._pause(fetchers))

    def _claim(self, fetchers: Fetchers) -> None:
        ready = sum(min(len(host.asks), host.width) for host in self._hosts.values())
        if ready >= fetchers.threads or not self._waiting:
            return
        names = list(islice(self._waiting, HOSTS_AT_A_TIME))
        wanted = {name: list(islice(self._waiting[name], FEEDS_OF_A_HOST)) for name in names}
        now = self._clock()
        claimed = claim_hosts(
            wanted,
            self._candidates(now, self._sharers),
            token=self._token,
            now=now,
            heed_rests=self._heed_rests,
        )
        for host, feeds in claimed.items():
            wait = max((host.free_at - now).total_seconds(), 0) if host.free_at else 0
            self._feeds.update({feed.pk: feed for feed in feeds})
            self._hosts[host.name] = HostQueue(
                host.name,
                width=settings.POLL_HOST_REQUESTS,
                gap=settings.POLL_HOST_GAP,
                next_start=time.monotonic() + wait,
                asks=deque(asks(feeds, now)),
            )
        for name, keys in wanted.items():
            rest = list(self._waiting.pop(name))[len(keys) :]
            if rest and name in self._hosts:
                self._hosts[name].later.extend(rest)

    def _refill(self) -> None:
        low = [host for host in self._hosts.values() if host.later and len(host.asks) < FEEDS_OF_A_HOST // 2]
        if all(host.asks for host in low):
            return
        now, keys = self._clock(), {}
        for host in low:
            for _ in range(min(len(host.later), FEEDS_OF_A_HOST)):
                keys[host.later.popleft()] = host.name
        feeds = claim_feeds(self._candidates(now, self._sharers).filter(pk__in=keys), self._token, now)
        self._feeds.update({feed.pk: feed for feed in feeds})
        for host in low:
            own = [feed for feed in feeds if keys[feed.pk] == host.name]
            host.asks.extend(asks(sorted(own, key=lambda feed: self._order[feed.pk]), now))

    def _pause(self, fetchers: Fetchers) -> float:
        if fetchers.is_full:
            return LONGEST_PAUSE_SECONDS
        startable = (host for host in self._hosts.values() if host.asks and host.running < host.width)
        soonest = min((host.next_start for host in startable), default=None)
        if soonest is None:
            return LONGEST_PAUSE_SECONDS
        return min(max(soonest - time.monotonic(), 0.001), LONGEST_PAUSE_SECONDS)

    def _take_in(self, done: FetchedAsk) -> None:
        """A host that asks for a rest is left out of this pass."""
        self._done_since = self._done_since if self._done else time.monotonic()
        self._done.append(done)
        host = self._hosts[done.host]
        host.running -= 1
        failure = done.answer.failure
        if failure is None:
            return
        until = host_rests_until(failure.status, failure.retry_after, done.answer.moment)
        if until is not None:
            left = [pk for ask in host.asks for pk in ask.feeds]
            release_feeds(token=self._token, feeds=left)
            for pk in left:
                del self._feeds[pk]
            host.asks.clear()
            host.later.clear()
            host.rests_until = until

    def _record(self, *, all_done: bool) -> None:
        bodies = (done.answer.fetched.body for done in self._done if done.answer.fetched)
        if not self._done or not (
            all_done
            or len(self._done) >= RECORDED_TOGETHER
            or sum(map(len, bodies)) > UNRECORDED_BYTES
            or time.monotonic() - self._done_since > UNRECORDED_SECONDS
        ):
            return
        readings = [
            (self._feeds.pop(pk), reading) for done in self._done for pk, reading in done.readings.items()
        ]
        self._done = []
        self._results += record_all(readings)

    def _leave(self, names: Sequence[str]) -> None:
        hosts = [self._hosts.pop(name) for name in names]
        gap = settings.POLL_HOST_GAP
        soon = self._clock() + timedelta(seconds=gap) if gap else None
        release_hosts(
            token=self._token, hosts=[host.name for host in hosts if not host.rests_until], free_at=soon
        )
        for host in hosts:
            if host.rests_until:
                release_hosts(token=self._token, hosts=[host.name], free_at=host.rests_until)
