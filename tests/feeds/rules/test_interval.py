"""The next reading: within the admin's bounds, and never slower while posts are settling."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from feeds.models import Feed
from feeds.parsing.entry import Channel
from feeds.rules.pace import AT_MOST_EVERY, longest_pause, next_poll, shortest_pause

NOW = datetime(2026, 5, 4, 10, 30, tzinfo=UTC)  # a Monday
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
MINUTES = st.integers(0, 40 * 24 * 60)
MOMENTS = st.timedeltas(-9999 * DAY, 9999 * DAY).map(lambda distance: NOW + distance)
CHANNELS = st.builds(
    Channel,
    ttl=st.none() | MINUTES,
    skip_hours=st.lists(st.integers(0, 23)).map(tuple),
    skip_days=st.lists(st.integers(0, 6)).map(tuple),
)
SIGNS = st.fixed_dictionaries(
    {
        "fresh_for": st.timedeltas(timedelta(0), timedelta(days=40)),
        "settling": st.booleans(),
        "hub_is_live": st.booleans(),
        "chance": st.floats(0, 1, exclude_max=True),
    }
)


def a_feed(interval: int = 10, ceiling: int = 60, **fields: Any) -> Feed:
    """`interval` and `ceiling` in minutes."""
    given = {"added_at": NOW - DAY, **fields}
    return Feed(recheck_every_minutes=interval, ceiling_minutes=ceiling, **given)


def adaptive(rhythm: int | None, **fields: Any) -> Feed:
    return a_feed(10, 6 * 60, pace="adaptive", rhythm_minutes=rhythm, **fields)


def after(
    feed: Feed, channel: Channel | None = None, now: datetime = NOW, **signs: Any
) -> tuple[timedelta, str]:
    at, why = next_poll(feed, channel or Channel(), now, **signs)
    return at - now, why


def test_a_fixed_feed_is_read_at_its_interval_to_the_second() -> None:
    assert after(a_feed(rhythm_minutes=30 * 24 * 60), chance=0.99) == (10 * MINUTE, "interval")


def test_a_feed_that_pings_is_read_every_minute_whatever_its_server_wishes() -> None:
    wishes = Channel(ttl=24 * 60, skip_hours=tuple(range(24)))
    assert after(a_feed(0), wishes, fresh_for=DAY, hub_is_live=True) == (AT_MOST_EVERY, "interval")


def test_an_adaptive_feed_is_read_four_times_within_its_rhythm() -> None:
    assert after(adaptive(4 * 60)) == (HOUR, "rhythm")


def test_the_rhythm_moves_between_floor_and_ceiling() -> None:
    assert after(adaptive(1)) == (10 * MINUTE, "rhythm")
    assert after(adaptive(30 * 24 * 60)) == (6 * HOUR, "rhythm")
    assert after(adaptive(None)) == (6 * HOUR, "rhythm")


def test_a_new_adaptive_feed_is_read_at_its_interval_for_a_day() -> None:
    assert after(adaptive(30 * 24 * 60, added_at=NOW - 23 * HOUR)) == (10 * MINUTE, "warm_up")


def test_jitter_shortens_by_a_tenth_at_most() -> None:
    length, _ = after(adaptive(4 * 60), chance=0.999)
    assert 54 * MINUTE < length < 55 * MINUTE


def test_a_servers_wish_is_kept_up_to_the_ceiling() -> None:
    assert after(a_feed(), fresh_for=30 * MINUTE) == (30 * MINUTE, "cache")
    assert after(a_feed(), fresh_for=DAY) == (HOUR, "cache")
    assert after(a_feed(), Channel(ttl=40), fresh_for=30 * MINUTE) == (40 * MINUTE, "ttl")
    assert after(a_feed(), fresh_for=5 * MINUTE) == (10 * MINUTE, "interval")


def test_a_live_hub_slows_polling_to_the_ceiling() -> None:
    assert after(a_feed(), hub_is_live=True) == (HOUR, "hub")


def test_a_ceiling_below_the_interval_counts_as_the_interval() -> None:
    assert after(a_feed(60, 1), fresh_for=DAY) == (HOUR, "interval")


def test_an_hour_that_the_feed_skips_is_waited_out() -> None:
    assert after(a_feed(), Channel(skip_hours=(10,))) == (30 * MINUTE, "skip")


def test_a_skipped_day_is_waited_out_as_far_as_the_ceiling_allows() -> None:
    evening = NOW.replace(hour=23, minute=55)  # its Tuesday is skipped
    assert after(a_feed(), Channel(skip_days=(1,)), evening) == (HOUR, "skip")
    patient = a_feed(10, 2 * 24 * 60)
    assert after(patient, Channel(skip_days=(1,)), evening) == (DAY + 5 * MINUTE, "skip")


def test_a_feed_that_skips_every_hour_is_read_at_the_ceiling() -> None:
    assert after(a_feed(), Channel(skip_hours=tuple(range(24)))) == (HOUR, "skip")


FEEDS = st.builds(
    a_feed,
    MINUTES,
    MINUTES,
    pace=st.sampled_from(("fixed", "adaptive")),
    rhythm_minutes=st.none() | MINUTES,
    added_at=MOMENTS,
)


@given(FEEDS, CHANNELS, SIGNS, MOMENTS)
def test_the_next_reading_keeps_the_admins_bounds(
    feed: Feed, channel: Channel, signs: dict[str, Any], now: datetime
) -> None:
    length, _ = after(feed, channel, now, **signs)
    assert shortest_pause(feed) <= length <= longest_pause(feed)


@given(FEEDS, CHANNELS, SIGNS)
def test_while_posts_are_settling_only_the_interval_counts(
    feed: Feed, channel: Channel, signs: dict[str, Any]
) -> None:
    assert after(feed, channel, **{**signs, "settling": True}) == (shortest_pause(feed), "settling")
