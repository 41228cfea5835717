"""Polls a second of 5,000 feeds, beside a bare `requests.get` loop with as many threads."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from ipaddress import ip_network
from statistics import median

import requests
from django.conf import settings
from django.db import connection
from django.utils import timezone

from bench.feed_farm import ETAG, HOSTS, farm, next_round, url_of
from bench.ledger import copies
from feeds.addresses import host_of_url
from feeds.models import Feed, Item
from feeds.polling.poll import poll_due

FEEDS = 5_000
OTHERS = 95_000
STORED = 10
ROUNDS = 3
GAP = 0.1


def polls() -> list[dict[str, object]]:
    """Measure also with ten times the items, and with the gap per host."""
    settings.ALLOW_PRIVATE_NETWORKS = [ip_network("127.0.0.0/8")]
    settings.POLL_HOST_GAP, settings.POLL_HOST_REQUESTS = 0.0, settings.POLL_THREADS
    with farm() as port:
        urls = [url_of(number, port) for number in range(FEEDS)]
        watch(urls)
        poll_due(ignore_due=True)
        # A new feed is read in full after each 304, until its server has shown that it compares.
        long_ago = timezone.now() - timedelta(days=365)
        Feed.objects.update(added_at=long_ago, newest_at=long_ago)
        store_items(STORED)
        baseline, ours = rates(port, urls)
        store_items(STORED * 9)
        again, more = rates(port, urls)
        gap = with_a_gap(port)
        settings.POLL_HOST_GAP = 0.0
        few, many = due(port), due_among_others(port)
    assert not Feed.objects.exclude(failures=0).exists()
    shared = {"unit": "polls/s", "baseline": f"requests.get, {settings.POLL_THREADS} threads"}
    return [
        figure(f"polls of {FEEDS:,} feeds", ours, baseline) | shared,
        figure(f"the same, {STORED * 10 * FEEDS:,} items stored", more, again) | shared,
        figure("  and beside ours before", more, ours) | {"unit": "polls/s", "baseline": "a tenth stored"},
        figure(f"polls, a gap of {GAP:g} s kept", gap, HOSTS / GAP)
        | {"unit": "polls/s", "baseline": "what the gaps allow"},
        figure(f"polls of {FEEDS:,} due feeds of {FEEDS + OTHERS:,}", many, few)
        | {"unit": "polls/s", "baseline": "without the others"},
    ]


def figure(name: str, rate: float, baseline: float) -> dict[str, object]:
    return {"figure": name, "rate": rate, "baseline_rate": baseline, "ratio": rate / baseline}


def watch(urls: list[str]) -> None:
    now = timezone.now()
    Feed.objects.bulk_create(
        Feed(url=url, host=host_of_url(url), added_at=now, next_poll_at=now) for url in urls
    )


def rates(port: int, urls: list[str]) -> tuple[float, float]:
    """Return medians of interleaved rounds. Each time 1 % of the feeds have news."""
    bare, own = [], []
    for _ in range(ROUNDS):
        bare.append(FEEDS / seconds_of(lambda: bare_requests(urls)))
        next_round(port)
        own.append(FEEDS / seconds_of(poll_everything))
    return median(bare), median(own)


def due(port: int) -> float:
    """Return polls a second of the median round."""
    seconds = []
    for _ in range(ROUNDS):
        Feed.objects.filter(url__startswith="http:").update(next_poll_at=timezone.now())
        next_round(port)
        seconds.append(seconds_of(lambda: poll_everything(ignore_due=False)))
    return FEEDS / median(seconds)


def due_among_others(port: int) -> float:
    later = timezone.now() + timedelta(days=1)
    other = Feed.objects.create(url="https://blog.example/", last_polled_at=later, next_poll_at=later)
    host = f"'blog' || n % {OTHERS // 5} || '.example'"
    copies(other, OTHERS - 1, url=f"'https://' || {host} || '/' || n", host=host)
    return due(port)


def poll_everything(*, ignore_due: bool = True) -> None:
    results = poll_due(ignore_due=ignore_due)
    assert len(results) == FEEDS
    assert all(result.ok for result in results)
    assert sum(result.new for result in results) == FEEDS // 100


def bare_requests(urls: list[str]) -> None:
    with ThreadPoolExecutor(settings.POLL_THREADS) as pool:
        list(pool.map(bare_request, urls))


def bare_request(url: str) -> None:
    # Conditional, as ours are.
    assert requests.get(url, headers={"If-None-Match": ETAG}, timeout=20).status_code in (200, 304)


def with_a_gap(port: int) -> float:
    next_round(port)
    settings.POLL_HOST_GAP = GAP
    return FEEDS / seconds_of(poll_everything)


def seconds_of(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def store_items(each: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            INSERT INTO {Item._meta.db_table} (feed_id, guid, guid_hash, link, link_hash, title, state,
                reason, first_seen, stable_since, last_checked, content_hash, changes)
            SELECT feed.id, made.guid, encode(sha256(made.guid::bytea), 'hex'), made.guid, '', made.guid,
                'cleared', '', now(), now(), now(), '', 0
            FROM {Feed._meta.db_table} feed, generate_series(1, %s) number,
                LATERAL (SELECT 'old-' || %s || '-' || number AS guid) made
            """,
            [each, each],
        )
        cursor.execute(f"ANALYZE {Item._meta.db_table}")
