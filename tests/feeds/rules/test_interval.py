"""The next reading: within the admin's bounds, and never slower while posts are settling."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from feeds.rules.pace import AT_MOST_EVERY, Pacing, Signs, next_poll

NOW = datetime(2026, 5, 4, 10, 30, tzinfo=UTC)  # a Monday
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
FIXED = Pacing(10 * MINUTE, HOUR)
ADAPTIVE = Pacing(10 * MINUTE, 6 * HOUR, adaptive=True)


def after(pacing: Pacing, signs: Signs, now: datetime = NOW, chance: float = 0.0) -> tuple[timedelta, str]:
    planned = next_poll(pacing, signs, now, chance=chance)
    return planned.at - now, planned.why


def test_a_fixed_feed_is_read_at_its_interval_to_the_second() -> None:
    assert after(FIXED, Signs(rhythm=30 * DAY), chance=0.99) == (10 * MINUTE, "interval")


def test_a_feed_that_pings_is_read_every_minute_whatever_its_server_wishes() -> None:
    wishes = Signs(fresh_for=DAY, ttl=DAY, hub_is_live=True, skip_hours=frozenset(range(24)))
    assert after(Pacing(timedelta(0), HOUR), wishes) == (AT_MOST_EVERY, "interval")


def test_an_adaptive_feed_is_read_four_times_within_its_rhythm() -> None:
    assert after(ADAPTIVE, Signs(rhythm=4 * HOUR)) == (HOUR, "rhythm")


def test_the_rhythm_moves_between_floor_and_ceiling() -> None:
    assert after(ADAPTIVE, Signs(rhythm=MINUTE)) == (10 * MINUTE, "rhythm")
    assert after(ADAPTIVE, Signs(rhythm=30 * DAY)) == (6 * HOUR, "rhythm")
    assert after(ADAPTIVE, Signs(rhythm=None)) == (6 * HOUR, "rhythm")


def test_a_new_adaptive_feed_is_read_at_its_interval_for_a_day() -> None:
    assert after(ADAPTIVE, Signs(rhythm=30 * DAY, age=23 * HOUR)) == (10 * MINUTE, "warm_up")


def test_jitter_shortens_by_a_tenth_at_most() -> None:
    length, _ = after(ADAPTIVE, Signs(rhythm=4 * HOUR), chance=0.999)
    assert 54 * MINUTE < length < 55 * MINUTE


def test_a_servers_wish_is_kept_up_to_the_ceiling() -> None:
    assert after(FIXED, Signs(fresh_for=30 * MINUTE)) == (30 * MINUTE, "cache")
    assert after(FIXED, Signs(fresh_for=DAY)) == (HOUR, "cache")
    assert after(FIXED, Signs(ttl=40 * MINUTE, fresh_for=30 * MINUTE)) == (40 * MINUTE, "ttl")
    assert after(FIXED, Signs(fresh_for=5 * MINUTE)) == (10 * MINUTE, "interval")


def test_a_live_hub_slows_polling_to_the_ceiling() -> None:
    assert after(FIXED, Signs(hub_is_live=True)) == (HOUR, "hub")


def test_a_ceiling_below_the_interval_counts_as_the_interval() -> None:
    assert after(Pacing(HOUR, MINUTE), Signs(fresh_for=DAY)) == (HOUR, "interval")


def test_an_hour_that_the_feed_skips_is_waited_out() -> None:
    assert after(FIXED, Signs(skip_hours=frozenset({10}))) == (30 * MINUTE, "skip")


def test_a_skipped_day_is_waited_out_as_far_as_the_ceiling_allows() -> None:
    evening = NOW.replace(hour=23, minute=55)  # its Tuesday is skipped
    assert after(FIXED, Signs(skip_days=frozenset({1})), evening) == (HOUR, "skip")
    patient = Pacing(10 * MINUTE, 2 * DAY)
    assert after(patient, Signs(skip_days=frozenset({1})), evening) == (DAY + 5 * MINUTE, "skip")


def test_a_feed_that_skips_every_hour_is_read_at_the_ceiling() -> None:
    assert after(FIXED, Signs(skip_hours=frozenset(range(24)))) == (HOUR, "skip")


LENGTHS = st.timedeltas(timedelta(0), timedelta(days=40))
SIGNS = st.builds(
    Signs,
    settling=st.booleans(),
    age=LENGTHS,
    rhythm=st.none() | LENGTHS,
    fresh_for=LENGTHS,
    ttl=LENGTHS,
    skip_hours=st.frozensets(st.integers(0, 23)),
    skip_days=st.frozensets(st.integers(0, 6)),
    hub_is_live=st.booleans(),
)
PACINGS = st.builds(Pacing, LENGTHS, LENGTHS, st.booleans())


@given(PACINGS, SIGNS, st.floats(0, 1, exclude_max=True), st.datetimes(timezones=st.just(UTC)))
def test_the_next_reading_keeps_the_admins_bounds(
    pacing: Pacing, signs: Signs, chance: float, now: datetime
) -> None:
    if now.year > 9900:
        return
    length, _ = after(pacing, signs, now, chance)
    assert pacing.floor <= length <= pacing.longest


@given(PACINGS, SIGNS, st.floats(0, 1, exclude_max=True))
def test_while_posts_are_settling_only_the_interval_counts(
    pacing: Pacing, signs: Signs, chance: float
) -> None:
    if signs.settling:
        assert after(pacing, signs, chance=chance) == (pacing.floor, "settling")
