"""Feeds that admins must be notified about."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from feeds.items.alerts import how_many_fail, is_any_wanting, mark_alerted, wanting
from feeds.models import Feed
from feeds.rules.alerts import What
from tests.factories import NOW, FeedFactory, PollFactory
from tests.races import beside

pytestmark = pytest.mark.django_db
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def failing(for_: timedelta = DAY, **changes: Any) -> Feed:
    usual = {
        "failures": 9,
        "failing_since": NOW - for_,
        "last_polled_at": NOW - HOUR,
        "next_poll_at": NOW + HOUR,
    }
    feed: Feed = FeedFactory(**{**usual, **changes})
    return feed


def recovered(**changes: Any) -> Feed:
    usual = {"alerted_at": NOW - 2 * HOUR, "last_polled_at": NOW - HOUR, "fetched_through": NOW - HOUR}
    feed: Feed = FeedFactory(**{**usual, **changes})
    return feed


def gone(status: int = 410, **changes: Any) -> Feed:
    feed = failing(HOUR, status="stopped", failures=1, **changes)
    PollFactory(feed=feed, at=NOW - 2 * HOUR, outcome="failed", status=500)
    PollFactory(feed=feed, at=NOW - HOUR, outcome="failed", status=status)
    return feed


def found() -> dict[What, list[Feed]]:
    assert is_any_wanting(NOW)
    with transaction.atomic():
        return wanting(NOW)


def test_a_feed_that_has_failed_for_a_day() -> None:
    feed = failing()
    failing(HOUR)
    assert found() == {"failing": [feed]}


def test_those_that_are_nearly_there_come_along_but_not_alone() -> None:
    nearly = failing(23 * HOUR)
    with transaction.atomic():
        assert wanting(NOW) == {}
    first = failing()
    assert found() == {"failing": [nearly, first]}


def test_a_feed_that_was_told_of_and_is_read_again() -> None:
    feed = recovered()
    recovered(fetched_through=NOW - 3 * HOUR)  # not read since
    assert found() == {"recovered": [feed]}


def test_a_feed_whose_server_calls_it_gone() -> None:
    feed = gone()
    assert found() == {"gone": [feed]}


def test_a_feed_that_was_stopped_by_hand_is_not_gone() -> None:
    gone(500)
    gone(410, dropping=True)
    failing(status="stopped")
    assert not is_any_wanting(NOW)


@pytest.mark.parametrize("make", [failing, gone, recovered])
def test_who_was_marked_is_not_wanted_again(make: Any) -> None:
    make()
    with transaction.atomic():
        for what, feeds in wanting(NOW).items():
            assert mark_alerted(feeds=feeds, what=what, now=NOW) == 1
    assert not is_any_wanting(NOW)
    with transaction.atomic():
        assert wanting(NOW) == {}


def test_after_a_recovery_the_next_day_of_failures_is_told_of_again() -> None:
    feed = recovered()
    with transaction.atomic():
        mark_alerted(feeds=wanting(NOW)["recovered"], what="recovered", now=NOW)
    Feed.objects.filter(pk=feed.pk).update(failures=3, failing_since=NOW, next_poll_at=NOW + 9 * DAY)
    with transaction.atomic():
        assert wanting(NOW + DAY) == {"failing": [feed]}


def test_how_many_of_the_watched_fail() -> None:
    failing()
    FeedFactory()
    failing(status="paused")
    assert how_many_fail() == (1, 2)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
@pytest.mark.django_db(transaction=True)
def test_two_workers_never_tell_of_one_feed() -> None:
    failing()

    def second() -> dict[What, list[Feed]]:
        with transaction.atomic():
            return wanting(NOW)

    first, other = beside(lambda: wanting(NOW), second, blocks=False)
    assert list(first) == ["failing"]
    assert other == {}
