"""Polls a second: fetched, compared and recorded, beside a bare requests loop over the same addresses."""

import time

import requests
from django.conf import settings
from django.utils import timezone

from feeds.models import Feed
from feeds.services.adding import add_feed
from feeds.services.polling import poll_due
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer

FEEDS = 300
POSTS = 20


def polls() -> dict[str, object]:
    """One thread each; the second round, in which no document has changed."""
    from ipaddress import ip_network

    settings.ALLOW_PRIVATE_NETWORKS = [ip_network("127.0.0.0/8")]
    with FeedServer() as server:
        urls = [server.serve(f"/{number}.xml", document(number)) for number in range(FEEDS)]
        for url in urls:
            add_feed(url=url, now=timezone.now())
        poll_due(ignore_due=True)
        baseline = FEEDS / seconds_of_requests(urls)
        started = time.perf_counter()
        results = poll_due(ignore_due=True)
        rate = len(results) / (time.perf_counter() - started)
    assert len(results) == FEEDS == Feed.objects.filter(failures=0).count()
    return {
        "figure": f"polls of unchanged {POSTS}-post feeds",
        "rate": rate,
        "unit": "polls/s",
        "baseline": "bare requests loop",
        "baseline_rate": baseline,
        "ratio": rate / baseline,
    }


def seconds_of_requests(urls: list[str]) -> float:
    session = requests.Session()
    started = time.perf_counter()
    for url in urls:
        assert session.get(url, timeout=10).content
    return time.perf_counter() - started


def document(number: int) -> bytes:
    return rss(
        [
            {
                "guid": f"{number}-{post}",
                "title": f"Post {post}",
                "link": f"https://blog.example/{number}/{post}",
                "content": "<p>Some text of a post.</p>" * 20,
            }
            for post in range(POSTS)
        ],
        title=f"Blog {number}",
    )
