from datetime import UTC, datetime, timedelta

import pytest

from feeds.models import Feed
from feeds.rules.finality import at_first_sight, is_final
from tests.feeds.rules.blog import a_feed

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
DEFAULT = a_feed(30, 15, 180)


def final(seen: float, stable: float, *, changed: bool = False, feed: Feed = DEFAULT) -> bool:
    return is_final(
        feed,
        first_seen=NOW - timedelta(minutes=seen),
        stable_since=NOW - timedelta(minutes=stable),
        moment=NOW,
        changed=changed,
    )


@pytest.mark.parametrize(("seen", "expected"), [(30, False), (30.99, False), (31, True)])
def test_the_shortest_delay_is_counted_in_whole_minutes_and_must_be_exceeded(
    seen: float, expected: bool
) -> None:
    assert final(seen, seen) is expected


@pytest.mark.parametrize(("stable", "expected"), [(15, False), (15.99, False), (16, True)])
def test_it_must_have_been_stable_for_more_than_the_wait(stable: float, expected: bool) -> None:
    assert final(60, stable) is expected


def test_a_change_at_this_very_poll_counts_only_towards_the_longest_delay() -> None:
    assert not final(180, 100, changed=True)
    assert final(181, 100, changed=True)


def test_a_post_that_keeps_changing_is_final_after_the_longest_delay() -> None:
    assert final(181, 0)
    assert not final(180, 0)


def test_zeros_still_need_a_minute_except_at_first_sight() -> None:
    ping = a_feed(0, 0, 0)
    assert at_first_sight(ping)
    assert not final(0.5, 0.5, feed=ping)
    assert final(1, 1, feed=ping)
