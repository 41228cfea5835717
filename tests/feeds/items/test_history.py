"""The readings of a feed: merged, counted and pruned, in a constant number of queries."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from feeds.items import history
from feeds.items.history import WEEKS, PollStretch, folded, posts_per_week, prune_polls, readings
from feeds.models import Feed, Poll
from tests.factories import NOW, FeedFactory, ItemFactory, PollFactory

pytestmark = pytest.mark.django_db
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
FAILED = {"outcome": "failed", "status": 503, "note": "The server is busy."}


def polled(feed: Feed, *each: dict[str, Any]) -> list[PollStretch]:
    """Record readings ten minutes apart, oldest first, and merge them."""
    for number, facts in enumerate(each):
        PollFactory(feed=feed, at=NOW + number * 10 * MINUTE, **facts)
    return folded(readings(feed))


def lengths(stretches: list[PollStretch]) -> list[int]:
    return [len(stretch.polls) for stretch in stretches]


def test_readings_that_brought_nothing_are_one_line() -> None:
    stretches = polled(FeedFactory(), {}, {"new": 1, "outcome": "read"}, *[{}] * 5)
    assert lengths(stretches) == [5, 1, 1]
    assert stretches[0].newest.at > stretches[0].oldest.at


def test_a_document_whose_posts_are_all_the_same_brought_nothing_either() -> None:
    assert lengths(polled(FeedFactory(), {}, {"outcome": "read", "status": 200, "bytes": 9}, {})) == [3]


def test_readings_that_settled_posts_stand_alone() -> None:
    assert lengths(polled(FeedFactory(), {"final": 1}, {"final": 1}, {}, {})) == [2, 1, 1]


def test_a_note_is_never_folded_away() -> None:
    assert lengths(polled(FeedFactory(), {}, {"note": "Its address is another now."}, {})) == [1, 1, 1]


def test_failures_of_one_kind_are_one_line_and_of_two_are_two() -> None:
    other = {**FAILED, "status": None, "note": "No answer."}
    assert lengths(polled(FeedFactory(), FAILED, FAILED, other, {})) == [1, 1, 2]


def test_a_stretch_says_its_average_and_its_sum() -> None:
    (stretch,) = polled(FeedFactory(), {"duration_ms": 10, "bytes": 1}, {"duration_ms": 20, "bytes": 2})
    assert (stretch.milliseconds, stretch.bytes) == (15, 3)


def test_readings_are_the_newest_of_this_feed_only() -> None:
    feed = FeedFactory()
    PollFactory()
    kept = [PollFactory(feed=feed, at=NOW + n * MINUTE) for n in range(3)]
    assert readings(feed, limit=2) == [kept[2], kept[1]]


def test_posts_are_counted_in_the_weeks_they_were_published() -> None:
    feed = FeedFactory()
    monday = date(2026, 3, 2)
    assert NOW.date() == monday
    for days in (0, 0, 3, 7, 8):
        ItemFactory(feed=feed, published_at=NOW - days * DAY - MINUTE)
    ItemFactory(published_at=NOW)
    weeks = posts_per_week(feed, now=NOW)
    assert len(weeks) == WEEKS
    assert weeks[-3:] == [(date(2026, 2, 16), 1), (date(2026, 2, 23), 2), (monday, 2)]


def test_a_post_without_a_date_counts_when_it_was_first_seen() -> None:
    feed = FeedFactory()
    ItemFactory(feed=feed, published_at=None, first_seen=NOW - 7 * DAY)
    assert posts_per_week(feed, now=NOW)[-2] == (date(2026, 2, 23), 1)


def test_posts_of_the_future_and_of_long_ago_do_not_count() -> None:
    feed = FeedFactory()
    ItemFactory(feed=feed, published_at=NOW + DAY)
    ItemFactory(feed=feed, published_at=NOW - 190 * DAY)
    assert not any(count for _, count in posts_per_week(feed, now=NOW))


def test_weeks_begin_on_the_admins_monday(settings: Any) -> None:
    settings.TIME_ZONE = "Pacific/Auckland"
    feed = FeedFactory()
    ItemFactory(feed=feed, published_at=datetime(2026, 3, 1, 20, 0, tzinfo=UTC))  # Monday in that time zone
    assert posts_per_week(feed, now=NOW)[-1] == (date(2026, 3, 2), 1)


def test_weeks_are_whole_across_the_change_of_clocks(settings: Any) -> None:
    settings.TIME_ZONE = "Europe/Berlin"
    feed = FeedFactory()
    for day in range(1, 30):
        ItemFactory(feed=feed, published_at=datetime(2026, 3, day, 12, tzinfo=UTC))
    counted = dict(posts_per_week(feed, now=datetime(2026, 4, 7, 12, tzinfo=UTC)))
    assert counted[date(2026, 3, 23)] == 7
    assert sum(counted.values()) == 29


def test_each_is_one_question() -> None:
    feed = FeedFactory()
    ItemFactory.create_batch(5, feed=feed)
    PollFactory.create_batch(5, feed=feed)
    with CaptureQueriesContext(connection) as asked:
        readings(feed)
        posts_per_week(feed, now=NOW)
    assert len(asked) == 2


def test_readings_older_than_a_month_are_forgotten() -> None:
    PollFactory(at=NOW - 30 * DAY - MINUTE)
    kept = PollFactory(at=NOW - 30 * DAY + MINUTE)
    assert prune_polls(now=NOW) == 1
    assert list(Poll.objects.all()) == [kept]


def test_a_feed_keeps_its_newest_readings_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "KEPT_PER_FEED", 3)
    busy, calm = FeedFactory(), FeedFactory()
    rows = [PollFactory(feed=busy, at=NOW - n * MINUTE) for n in range(5)]
    PollFactory.create_batch(3, feed=calm)
    assert prune_polls(now=NOW) == 2
    assert set(Poll.objects.filter(feed=busy)) == set(rows[:3])
    assert Poll.objects.filter(feed=calm).count() == 3


def test_pruning_twice_deletes_nothing_more() -> None:
    PollFactory(at=NOW - 40 * DAY)
    assert (prune_polls(now=NOW), prune_polls(now=NOW)) == (1, 0)


def test_no_transaction_holds_more_than_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "KEPT_PER_FEED", 1)
    for feed in (FeedFactory(), FeedFactory()):
        Poll.objects.bulk_create(
            PollFactory.build(feed=feed, at=NOW - n * (DAY if n > 7 else MINUTE) * 10) for n in range(15)
        )
    sizes: list[int] = []

    def noted(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("DELETE"):
            sizes.append(len(params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(noted):
        assert prune_polls(now=NOW, batch=4) == 28
    assert sum(sizes) == 28
    assert max(sizes) == 4
    assert Poll.objects.count() == 2


def test_pruning_stops_when_its_time_is_up() -> None:
    for n in range(5):
        PollFactory(at=NOW - 40 * DAY - n * MINUTE)
    assert prune_polls(now=NOW, batch=2, budget=timedelta(0)) == 2


@pytest.mark.usefixtures("commits")
@pytest.mark.django_db(transaction=True)
def test_nothing_is_locked_between_two_batches() -> None:
    """A feed can be recorded between them, on SQLite too."""
    for n in range(4):
        PollFactory(at=NOW - 40 * DAY - n * MINUTE)
    open_blocks = []

    def watched(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("SELECT"):
            open_blocks.append(connection.in_atomic_block)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(watched):
        assert prune_polls(now=NOW, batch=2) == 4
    assert len(open_blocks) >= 2
    assert not any(open_blocks)
    assert not transaction.get_connection().in_atomic_block
