"""When a feed is read next.

How often a feed publishes, and how restless it is.
The next reading: within the admin's bounds, and never slower while posts are settling.
How long a response stays fresh, by the rules of HTTP caches.
"""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feeds.models import Feed, Item
from feeds.parsing.entry import Channel
from feeds.rules.facts import Document, Known, PollPlan, Seen
from feeds.rules.pace import (
    AT_MOST_EVERY,
    LONGEST_FRESHNESS,
    LONGEST_RETRY_AFTER,
    first_pause,
    fresh_for,
    host_rests_until,
    longest_pause,
    next_poll,
    retry_at,
    shortest_pause,
)
from feeds.rules.plan import plan_document
from feeds.rules.rhythm import LONGEST_RHYTHM, restless_after, rhythm_minutes
from tests.feeds.rules.blog import a_feed, an_item

FRESHNESS_NOW = datetime(2026, 5, 4, 10, 30, tzinfo=UTC)
MONDAY = datetime(2026, 5, 4, 10, 30, tzinfo=UTC)  # a Monday
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
MINUTES = st.integers(0, 40 * 24 * 60)
MOMENTS = st.timedeltas(-9999 * DAY, 9999 * DAY).map(lambda distance: MONDAY + distance)
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
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def test_seconds_and_dates_are_both_understood() -> None:
    assert retry_at("120", NOW) == NOW + timedelta(minutes=2)
    assert retry_at(format_datetime(NOW + HOUR, usegmt=True), NOW) == NOW + HOUR


def test_a_date_that_is_past_means_now_and_a_far_one_a_week() -> None:
    assert retry_at(format_datetime(NOW - HOUR, usegmt=True), NOW) == NOW
    assert retry_at("99999999", NOW) == NOW + LONGEST_RETRY_AFTER
    assert (
        retry_at(format_datetime(NOW + 99 * LONGEST_RETRY_AFTER, usegmt=True), NOW)
        == NOW + LONGEST_RETRY_AFTER
    )


@pytest.mark.parametrize("nonsense", ["", "soon", "-5", "1.5", "Fri, 99 Foo 2026"])
def test_anything_else_is_not_a_wish(nonsense: str) -> None:
    assert retry_at(nonsense, NOW) is None


@given(st.text(max_size=60))
def test_no_header_raises_or_leaves_its_bounds(header: str) -> None:
    found = retry_at(header, NOW)
    assert found is None or NOW <= found <= NOW + LONGEST_RETRY_AFTER


@pytest.mark.parametrize(("status", "pause"), [(403, 60), (429, 60), (500, 10), (404, 10), (None, 10)])
def test_who_keeps_us_away_is_left_alone_for_an_hour_at_the_least(status: int | None, pause: int) -> None:
    assert first_pause(status, timedelta(minutes=10)) == timedelta(minutes=pause)
    assert first_pause(status, timedelta(hours=5)) == timedelta(hours=5)


def test_a_host_that_says_we_ask_too_often_rests_a_minute_or_as_it_wishes_up_to_an_hour() -> None:
    assert host_rests_until(429, "", NOW) == NOW + timedelta(minutes=1)
    assert host_rests_until(429, "300", NOW) == NOW + timedelta(minutes=5)
    assert host_rests_until(429, "86400", NOW) == NOW + timedelta(hours=1)
    assert host_rests_until(503, "300", NOW) is None
    assert host_rests_until(None, "", NOW) is None


def ago(*minutes: float) -> list[datetime]:
    return [NOW - timedelta(minutes=one) for one in minutes]


def test_the_rhythm_is_the_median_gap_in_whatever_order() -> None:
    assert rhythm_minutes(ago(0, 10, 30, 1000), NOW) == 20
    assert rhythm_minutes(ago(1000, 0, 30, 10), NOW) == 20


@pytest.mark.parametrize("minutes", [(), (5,), (5, 10), (5, 5, 5, 10)])
def test_two_moments_are_no_rhythm(minutes: tuple[float, ...]) -> None:
    assert rhythm_minutes(ago(*minutes), NOW) is None


def test_the_latest_twenty_count() -> None:
    assert rhythm_minutes(ago(*range(0, 200, 10), *range(10_000, 90_000, 1000)), NOW) == 10


def test_the_future_does_not_count() -> None:
    assert rhythm_minutes(ago(-100, -50, 0, 10, 20), NOW) == 10
    assert rhythm_minutes(ago(-100, -50, 0, 10), NOW) is None


def test_a_rhythm_is_at_least_a_minute_and_at_most_a_year() -> None:
    assert rhythm_minutes(ago(0, 0.1, 0.2), NOW) == 1
    year_one = [datetime(year, 1, 1, tzinfo=UTC) for year in (1, 900, 1800)]
    assert rhythm_minutes(year_one, NOW) == LONGEST_RHYTHM


def test_restless_readings_are_counted_in_a_row() -> None:
    assert [restless_after(2, restless) for restless in (True, False, None)] == [3, 0, 2]


def read(hashes: dict[str, str], *rows: Item, partial: bool = False) -> PollPlan:
    return plan_document(
        Document(tuple(hashes), {id_: Seen(hash_) for id_, hash_ in hashes.items()}),
        Known(rows, order=tuple(hashes)),
        a_feed(added_at=NOW),
        moment=NOW,
        partial=partial,
    )


def known(pk: int, id_: str, state: str = "unassigned", changes: int = 0) -> Item:
    item = an_item(pk, id_, state, "h", NOW)
    item.changes = changes
    return item


def test_a_reading_is_restless_when_all_that_may_change_had_changed() -> None:
    both = known(1, "a"), known(2, "b", "assigned")
    assert read({"a": "x", "b": "x"}, *both).restless is True
    assert read({"a": "x", "b": "h"}, *both).restless is False
    assert read({"new": "x"}).restless is None


def test_what_has_not_changed_this_time_comes_to_rest() -> None:
    rows = known(1, "a", changes=2), known(2, "b", changes=2), known(3, "c")
    assert read({"a": "h", "b": "x", "c": "h"}, *rows).calm == [1]


def test_a_push_tells_nothing_of_rest() -> None:
    assert read({"a": "h"}, known(1, "a", changes=2), partial=True).calm == []


def a_polled_feed(interval: int = 10, ceiling: int = 60, **fields: Any) -> Feed:
    """`interval` and `ceiling` in minutes."""
    given = {"added_at": MONDAY - DAY, **fields}
    return Feed(recheck_every_minutes=interval, ceiling_minutes=ceiling, **given)


def adaptive(rhythm: int | None, **fields: Any) -> Feed:
    return a_polled_feed(10, 6 * 60, pace="adaptive", rhythm_minutes=rhythm, **fields)


def after(
    feed: Feed, channel: Channel | None = None, now: datetime = MONDAY, **signs: Any
) -> tuple[timedelta, str]:
    at, why = next_poll(feed, channel or Channel(), now, **signs)
    return at - now, why


def test_a_fixed_feed_is_read_at_its_interval_to_the_second() -> None:
    assert after(a_polled_feed(rhythm_minutes=30 * 24 * 60), chance=0.99) == (10 * MINUTE, "interval")


def test_a_feed_that_pings_is_read_every_minute_whatever_its_server_wishes() -> None:
    wishes = Channel(ttl=24 * 60, skip_hours=tuple(range(24)))
    assert after(a_polled_feed(0), wishes, fresh_for=DAY, hub_is_live=True) == (AT_MOST_EVERY, "interval")


def test_an_adaptive_feed_is_read_four_times_within_its_rhythm() -> None:
    assert after(adaptive(4 * 60)) == (HOUR, "rhythm")


def test_the_rhythm_moves_between_floor_and_ceiling() -> None:
    assert after(adaptive(1)) == (10 * MINUTE, "rhythm")
    assert after(adaptive(30 * 24 * 60)) == (6 * HOUR, "rhythm")
    assert after(adaptive(None)) == (6 * HOUR, "rhythm")


def test_a_new_adaptive_feed_is_read_at_its_interval_for_a_day() -> None:
    assert after(adaptive(30 * 24 * 60, added_at=MONDAY - 23 * HOUR)) == (10 * MINUTE, "warm_up")


def test_jitter_shortens_by_a_tenth_at_most() -> None:
    length, _ = after(adaptive(4 * 60), chance=0.999)
    assert 54 * MINUTE < length < 55 * MINUTE


def test_a_servers_wish_is_kept_up_to_the_ceiling() -> None:
    assert after(a_polled_feed(), fresh_for=30 * MINUTE) == (30 * MINUTE, "cache")
    assert after(a_polled_feed(), fresh_for=DAY) == (HOUR, "cache")
    assert after(a_polled_feed(), Channel(ttl=40), fresh_for=30 * MINUTE) == (40 * MINUTE, "ttl")
    assert after(a_polled_feed(), fresh_for=5 * MINUTE) == (10 * MINUTE, "interval")


def test_a_live_hub_slows_polling_to_the_ceiling() -> None:
    assert after(a_polled_feed(), hub_is_live=True) == (HOUR, "hub")


def test_a_ceiling_below_the_interval_counts_as_the_interval() -> None:
    assert after(a_polled_feed(60, 1), fresh_for=DAY) == (HOUR, "interval")


def test_an_hour_that_the_feed_skips_is_waited_out() -> None:
    assert after(a_polled_feed(), Channel(skip_hours=(10,))) == (30 * MINUTE, "skip")


def test_a_skipped_day_is_waited_out_as_far_as_the_ceiling_allows() -> None:
    evening = MONDAY.replace(hour=23, minute=55)  # its Tuesday is skipped
    assert after(a_polled_feed(), Channel(skip_days=(1,)), evening) == (HOUR, "skip")
    patient = a_polled_feed(10, 2 * 24 * 60)
    assert after(patient, Channel(skip_days=(1,)), evening) == (DAY + 5 * MINUTE, "skip")


def test_a_feed_that_skips_every_hour_is_read_at_the_ceiling() -> None:
    assert after(a_polled_feed(), Channel(skip_hours=tuple(range(24)))) == (HOUR, "skip")


FEEDS = st.builds(
    a_polled_feed,
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


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0),
        ({"cache-control": "max-age=600"}, 600),
        ({"cache-control": 'Public, MAX-AGE="600", must-revalidate'}, 600),
        ({"cache-control": "max-age=600", "age": "100"}, 500),
        ({"cache-control": "max-age=600", "age": "1000"}, 0),
        ({"cache-control": "max-age=600, no-cache"}, 0),
        ({"cache-control": "no-store"}, 0),
        ({"cache-control": "s-maxage=600"}, 0),
        ({"cache-control": "max-age=soon"}, 0),
        ({"cache-control": "max-age=-5"}, 0),
        ({"cache-control": "max-age=60, max-age=600"}, 60),
        ({"expires": "Mon, 04 May 2026 11:00:00 GMT"}, 1800),
        ({"expires": "0"}, 0),
        ({"expires": "Mon, 04 May 2026 10:00:00 GMT"}, 0),
        ({"expires": "Mon, 04 May 2026 11:00:00 GMT", "cache-control": "max-age=60"}, 60),
    ],
)
def test_max_age_goes_before_expires_and_age_is_taken_off(headers: dict[str, str], seconds: int) -> None:
    assert fresh_for(headers, FRESHNESS_NOW) == timedelta(seconds=seconds)


def test_expires_is_measured_on_the_servers_own_clock() -> None:
    wrong_by_a_year = {"expires": "Sun, 04 May 2025 11:00:00 GMT", "date": "Sun, 04 May 2025 10:00:00 GMT"}
    assert fresh_for(wrong_by_a_year, FRESHNESS_NOW) == timedelta(hours=1)


@given(st.dictionaries(st.sampled_from(("cache-control", "expires", "date", "age")), st.text()))
def test_whatever_a_server_writes_is_some_length_of_time(headers: dict[str, str]) -> None:
    assert timedelta(0) <= fresh_for(headers, FRESHNESS_NOW) <= LONGEST_FRESHNESS
