"""No page scans deliveries or posts, and no tick a large table, by PostgreSQL's plans."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from bench.ledger import MOST_KB, Size, copies, fill, pages, ticks
from common.admin.lists import BoundedPaginator
from common.clock import utcnow
from common.db import bulk
from delivery.models import Delivery
from feeds.models import Feed, Item
from reader.models import FeedIcon

# PostgreSQL scans a smaller table in spite of indexes.
SIZE = Size(feeds=200, hosts=50, posts=20_000, subscribers=2_000, issues=30)
SCANNED = re.compile(r"Seq Scan on (delivery_delivery|feeds_item)\b")
MOST_ROWS = 500
MOST_STATEMENTS = {"overview": 90, "/metrics": 40}
# It counts the letters of each listed issue, and caches the counts of large ones.
COUNTS_ITS_ISSUES = {"issues"}


@pytest.fixture
def large(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("PostgreSQL's plans")
    monkeypatch.setattr("bench.audience.vacuum", analyse)
    monkeypatch.setattr(bulk, "EXACT", 5_000)
    # Bounds in proportion to the tables: for half of a table PostgreSQL rightly scans the whole.
    monkeypatch.setattr("common.admin.lists.SEARCHED", 500)
    monkeypatch.setattr(BoundedPaginator, "MOST", 500)
    fill(SIZE)
    cache.clear()


def analyse(*models: type) -> None:
    """Run ANALYZE; VACUUM is impossible inside a test's transaction."""
    with connection.cursor() as cursor:
        for model in models:
            cursor.execute(f"ANALYZE {model._meta.db_table}")  # type: ignore[attr-defined]


def scans(statements: list[str]) -> Iterator[str]:
    """Yield the statements that scan a whole table."""
    for sql in statements:
        if sql.startswith("SELECT"):
            with connection.cursor() as cursor:
                cursor.execute("EXPLAIN " + sql)
                plan = "\n".join(row[0] for row in cursor.fetchall())
            if SCANNED.search(plan):
                yield f"{sql}\n{plan}"


@pytest.mark.usefixtures("large")
def test_no_page_reads_all_of_the_ledger_or_of_the_posts_or_is_long(admin_client: Client) -> None:
    for name, address in pages():
        with CaptureQueriesContext(connection) as asked:
            answer = admin_client.get(address, REMOTE_ADDR="127.0.0.1", HTTP_HOST="127.0.0.1")
        assert answer.status_code == 200, name
        assert len(answer.content) <= MOST_KB * 1000, name
        assert len(asked) <= MOST_STATEMENTS.get(name, 35), name
        if name not in COUNTS_ITS_ISSUES:
            assert list(scans([query["sql"] for query in asked])) == [], name
    counts = Delivery.objects.all().counts()
    exact = bulk.exactly(Delivery.objects.all(), "state")
    assert counts["failed"] == exact["failed"]
    assert counts["sent"] == pytest.approx(exact["sent"], rel=0.1)
    assert Item.objects.all().counts()["cleared"] == pytest.approx(SIZE.posts, rel=0.1)


@pytest.mark.usefixtures("large")
def test_no_tick_reads_a_whole_table() -> None:
    """Each second there is a look for work, on a site with 100,000 feeds, too."""
    copies(Feed.objects.latest("pk"), 5_000, url="'https://more.example/' || n")
    icons = [FeedIcon(feed_id=key, look_at=utcnow()) for key in Feed.objects.values_list("pk", flat=True)]
    FeedIcon.objects.bulk_create(icons)
    analyse(Feed, FeedIcon)
    for name, run in ticks().items():
        run()
        with CaptureQueriesContext(connection) as asked:
            run()
        selects = [query["sql"] for query in asked if query["sql"].startswith("SELECT")]
        assert [sql for sql in selects if rows_read(sql) > MOST_ROWS] == [], name


def rows_read(sql: str) -> int:
    """Return how many rows the statement looks at in one table."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}")
        (plan,) = cursor.fetchone()
    (top,) = json.loads(plan) if isinstance(plan, str) else plan
    return _rows(top["Plan"])


def _rows(node: dict[str, Any]) -> int:
    own = int(node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * int(node["Actual Loops"])
    return max([own, *map(_rows, node.get("Plans", ()))])
