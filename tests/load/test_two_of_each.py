"""Two polling and two publishing workers on PostgreSQL: nothing twice, nothing cleared unsent."""

import json
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.examples import examples
from tests.load.installation import Installation, postgres_installation
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer

pytestmark = [pytest.mark.slow, pytest.mark.postgres]

FEEDS = 6
ROUNDS = max(examples(12), 4)
SECONDS = 150

SETUP = """
import sys
from django.utils import timezone
from feeds.models import Feed
from feeds.adding.add import add_feed
from subscriptions.newsletters.define import define_subscribable
ping = dict(min_delay_minutes=0, await_stabilization_minutes=0, max_delay_minutes=0, recheck_every_minutes=0)
feeds = [add_feed(url=url, now=timezone.now(), start="all", **ping) for url in {urls!r}]
for name, details in {{"each": {{"arrangement": "each"}}, "threes": {{"arrangement": "every_n", "n": 3}},
                      "minutely": {{"arrangement": "cron", "cron": "* * * * *"}}}}.items():
    define_subscribable(name=name, feeds=feeds, **details)
"""

# Beat requests a poll at most once a minute: tests do so more often.
HURRY = "UPDATE feeds_feed SET next_poll_at = now()"
COUNTS = "SELECT state, count(*) FROM feeds_item GROUP BY state"

STATE = """
import json
from delivery.models import Issue, IssueItem
from feeds.models import Feed, Item
from subscriptions.models import Assignable, Assignment
print(json.dumps({
    "items": {row.pk: row.state for row in Item.objects.all()},
    "issued": list(IssueItem.objects.values_list("issue__subscribable__name", "item_id")),
    "waiting": list(Assignment.objects.values_list("assignable__subscribable__name", "item_id")),
    "most": {name: count for name, count in [("threes", max([row.issue_items.count()
             for row in Issue.objects.filter(subscribable__name="threes")], default=0))]},
    "empty": Issue.objects.filter(issue_items=None).count(),
    "failures": list(Assignable.objects.exclude(last_error="").values_list("last_error", flat=True)) +
                list(Feed.objects.exclude(last_error="").values_list("last_error", flat=True)),
}))
"""


def test_two_workers_of_each_kind_do_everything_once(postgres_url: str, tmp_path: Path) -> None:
    with FeedServer() as server, postgres_installation(tmp_path, postgres_url, EMAIL_URL="mailbox:") as site:
        urls = [write(server, feed, 1) for feed in range(FEEDS)]
        site.script(SETUP.format(urls=urls))
        for queues in ("poll", "poll", "assign,complete", "assign,complete"):
            site.start_worker(queues)
        for number in range(2, ROUNDS + 1):
            for feed in range(FEEDS):
                write(server, feed, number)
            hurry(site)
            time.sleep(1)
        expected = FEEDS * ROUNDS
        state = settled(site, expected)
    assert state["failures"] == []
    assert state["empty"] == 0
    assert state["most"]["threes"] == 3
    assert len(state["items"]) == expected
    for name in ("each", "threes", "minutely"):
        issued = [item for newsletter, item in state["issued"] if newsletter == name]
        waiting = [item for newsletter, item in state["waiting"] if newsletter == name]
        assert sorted(issued + waiting) == sorted(map(int, state["items"])), f"{name}: each post once"


def write(server: FeedServer, feed: int, posts: int) -> str:
    items = [
        {"guid": f"{feed}-{number}", "title": f"Post {number}", "link": server.url(f"/{feed}/{number}")}
        for number in range(posts, 0, -1)
    ]
    return server.serve(f"/{feed}.xml", rss(items, title=f"Blog {feed}"))


def hurry(site: Installation) -> None:
    with psycopg.connect(site.environment["DATABASE_URL"], autocommit=True) as database:
        database.execute(HURRY)


def settled(site: Installation, expected: int) -> dict[str, Any]:
    """Return the state once every post is assigned and the minute's letters are sent."""
    end = time.monotonic() + SECONDS
    with psycopg.connect(site.environment["DATABASE_URL"], autocommit=True) as database:
        while (found := database.execute(COUNTS).fetchall()) != [("cleared", expected)]:
            assert time.monotonic() < end, f"{found}, not {expected}: {site.log()}"
            database.execute(HURRY)
            time.sleep(3)
    return dict(json.loads(site.script(STATE)))
