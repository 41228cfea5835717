"""When admins are notified about a feed, and when a redirect is believed.

Permanent redirects are believed after several readings; temporary ones never.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feeds.models import Feed
from feeds.rules.alerts import (
    A_DAY,
    ALONG,
    BELIEVED_AFTER,
    GAP,
    count_move,
    due,
    is_believed,
    is_nearly_due,
    is_our_own_network,
    may_tell,
    permanent_target,
)

OLD, NEW, OTHER = "https://old.example/feed", "https://new.example/feed", "https://other.example/feed"
NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def a_feed(**changes: Any) -> Feed:
    """Return a feed: failing for exactly a day, not reported, its next reading an hour off."""
    usual: dict[str, Any] = {
        "status": "active",
        "failures": 9,
        "failing_since": NOW - A_DAY,
        "alerted_at": None,
        "last_polled_at": NOW - HOUR,
        "next_poll_at": NOW + HOUR,
        "fetched_through": NOW - A_DAY - HOUR,
    }
    return Feed(**{**usual, **changes})


def a_well_feed(**changes: Any) -> Feed:
    return a_feed(
        failures=0, failing_since=None, fetched_through=NOW - MINUTE, last_polled_at=NOW - MINUTE, **changes
    )


def test_a_feed_is_told_of_once_it_has_failed_for_a_day() -> None:
    assert due(a_feed(), NOW) == "failing"
    assert due(a_feed(failing_since=NOW - A_DAY + MINUTE), NOW) is None


def test_who_knows_is_not_told_again_however_long_it_lasts() -> None:
    assert due(a_feed(alerted_at=NOW - MINUTE), NOW) is None
    assert due(a_feed(alerted_at=NOW - MINUTE), NOW + 100 * A_DAY) is None


def test_a_reading_that_is_overdue_comes_first() -> None:
    """The service stood still for two days: the feed may be well."""
    assert due(a_feed(failures=1, failing_since=NOW - 2 * A_DAY, next_poll_at=NOW - A_DAY), NOW) is None


@pytest.mark.parametrize("status", ["paused", "stopped"])
def test_a_feed_that_nobody_reads_is_not_failing(status: str) -> None:
    assert due(a_feed(status=status), NOW) is None


def test_a_feed_that_is_read_again_is_told_of_if_its_failing_was() -> None:
    assert due(a_well_feed(alerted_at=NOW - HOUR), NOW) == "recovered"
    assert due(a_well_feed(), NOW) is None


def test_a_new_address_that_was_not_read_yet_is_no_recovery() -> None:
    forgotten = a_feed(failures=0, failing_since=None, alerted_at=NOW - HOUR)
    assert due(forgotten, NOW) is None
    forgotten.fetched_through = NOW
    assert due(forgotten, NOW) == "recovered"


def test_a_feed_that_is_gone_is_told_of_at_once_even_after_a_mail_that_it_fails() -> None:
    gone = a_feed(status="stopped", failures=1, failing_since=NOW - MINUTE, last_polled_at=NOW - MINUTE)
    for alerted_at, what in ((None, "gone"), (NOW - HOUR, "gone"), (NOW, None)):
        gone.alerted_at = alerted_at
        assert due(gone, NOW, is_gone=True) == what
    assert due(gone, NOW) is None


def test_feeds_that_fail_together_are_told_of_together() -> None:
    assert is_nearly_due(a_feed(failing_since=NOW - A_DAY + ALONG), NOW)
    assert not is_nearly_due(a_feed(failing_since=NOW - A_DAY + ALONG + MINUTE), NOW)
    assert not is_nearly_due(a_feed(alerted_at=NOW), NOW)
    assert not is_nearly_due(a_well_feed(alerted_at=NOW - HOUR), NOW)


def test_mails_of_one_sort_keep_their_distance() -> None:
    assert may_tell(None, NOW)
    assert not may_tell(NOW - GAP + MINUTE, NOW)
    assert may_tell(NOW - GAP, NOW)


@pytest.mark.parametrize(
    ("failing", "watched", "ours"), [(3, 3, True), (2, 3, False), (2, 2, False), (0, 0, False)]
)
def test_when_all_of_several_feeds_fail_the_network_is_suspected(
    failing: int, watched: int, ours: bool
) -> None:
    assert is_our_own_network(failing, watched) is ours


@given(good=st.lists(st.booleans(), min_size=1, max_size=80), hours=st.integers(1, 30))
def test_whatever_happens_mails_alternate_and_none_comes_before_a_day(good: list[bool], hours: int) -> None:
    """Any sequence of readings: failing, recovered, failing, …, each after a whole day of failures."""
    feed = a_well_feed(alerted_at=None)
    told = []
    for number, well in enumerate(good):
        now = NOW + number * hours * HOUR
        feed.last_polled_at, feed.next_poll_at = now, now + HOUR
        if well:
            feed.failures, feed.failing_since, feed.fetched_through = 0, None, now
        else:
            feed.failures, feed.failing_since = feed.failures + 1, feed.failing_since or now
        what = due(feed, now + MINUTE)
        if what == "failing":
            assert feed.failing_since is not None
            assert now + MINUTE - feed.failing_since >= A_DAY
        if what:
            told.append(what)
            feed.alerted_at = None if what == "recovered" else now + MINUTE
            assert due(feed, now + MINUTE) is None
    assert told == ["failing", "recovered"] * (len(told) // 2) + ["failing"] * (len(told) % 2)


@pytest.mark.parametrize(
    ("redirects", "target"),
    [
        ([], ""),
        ([(301, NEW)], NEW),
        ([(308, NEW)], NEW),
        ([(302, NEW)], ""),
        ([(307, NEW)], ""),
        ([(303, NEW)], ""),
        ([(301, NEW), (308, OTHER)], OTHER),
        ([(301, NEW), (302, OTHER)], NEW),
        ([(302, NEW), (301, OTHER)], ""),
        ([(301, "http://old.example/feed")], ""),
        ([(301, NEW), (301, OLD)], ""),
    ],
)
def test_only_permanent_redirects_from_the_beginning_count(
    redirects: list[tuple[int, str]], target: str
) -> None:
    assert permanent_target(OLD, redirects) == target


def test_a_redirect_that_holds_is_believed_and_one_that_changes_begins_anew() -> None:
    before, polls = "", 0
    for _ in range(BELIEVED_AFTER - 1):
        before, polls = count_move(NEW, before=before, polls=polls)
    assert not is_believed(polls)
    assert count_move(OTHER, before=before, polls=polls) == (OTHER, 1)
    assert count_move("", before=before, polls=polls) == ("", 0)
    assert is_believed(count_move(NEW, before=before, polls=polls)[1])
