"""An issue's state, from its counts alone.

Whether a refusal that is our fault concerns one domain, the newsletter, or everybody.
"""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.rules.meaning import Concern, Meaning, advice
from delivery.rules.progress import (
    FIRST_REST,
    LONGEST_REST,
    MOST_BARS,
    STATES,
    WELL_AFTER,
    arrived,
    domain_rests_until,
    ended,
    is_everybodys,
    is_over,
    refuses_sender,
    release_of,
    state_of,
    stretches,
    time_left,
    told,
    total,
    waiting,
    waiting_words,
)

HOLDUP_NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
NOW = datetime(2026, 3, 2, 12, 7, tzinfo=UTC)
LEDGER = ("queued", "sending", "sent", "stored", "deferred", "failed", "held", "cancelled")
some_counts = st.dictionaries(st.sampled_from(LEDGER), st.integers(0, 10_000))
minutes = st.lists(
    st.tuples(st.integers(0, 200_000), st.integers(1, 500)), min_size=1, max_size=40, unique_by=lambda r: r[0]
)


@given(some_counts)
def test_every_delivery_is_done_waits_or_is_held(counts: dict[str, int]) -> None:
    assert ended(counts) + waiting(counts) + counts.get("held", 0) == total(counts)
    assert arrived(counts) <= ended(counts)


@given(some_counts, st.booleans(), st.booleans(), st.booleans())
def test_an_issue_is_in_one_of_five_states(
    counts: dict[str, int], published: bool, cancelled: bool, paused: bool
) -> None:
    state = state_of(counts, published=published, cancelled=cancelled, paused=paused)
    assert state in STATES
    assert (state == "cancelled") == cancelled
    assert state != "sending" or waiting(counts)


@pytest.mark.parametrize(
    ("published", "cancelled", "paused", "counts", "state"),
    [
        (False, False, False, {}, "draft"),
        (False, False, True, {}, "draft"),
        (True, False, False, {}, "sent"),
        (True, False, False, {"sent": 1, "deferred": 1}, "sending"),
        (True, False, False, {"sent": 1, "held": 1}, "sent"),
        (True, False, True, {"sent": 1, "held": 1}, "paused"),
        (True, False, True, {"sent": 1}, "sent"),
        (True, True, True, {"queued": 1}, "cancelled"),
    ],
)
def test_the_states_in_words(
    published: bool, cancelled: bool, paused: bool, counts: dict[str, int], state: str
) -> None:
    assert state_of(counts, published=published, cancelled=cancelled, paused=paused) == state


def test_the_time_that_is_left() -> None:
    assert time_left({"queued": 90, "deferred": 10, "held": 5}, 50) == timedelta(minutes=2)
    assert time_left({"queued": 90}, 0) is None
    assert time_left({"sent": 90}, 50) is None


@given(minutes)
def test_the_chart_loses_no_letter_and_stays_narrow(rows: list[tuple[int, int]]) -> None:
    by_minute = [(NOW + timedelta(minutes=minute), count) for minute, count in sorted(rows)]
    bars = stretches(by_minute)
    assert sum(bar.count for bar in bars) == sum(count for _, count in rows)
    assert len({bar.minutes for bar in bars}) == 1
    assert len(bars) <= MOST_BARS + 1 or bars[0].minutes == 1440
    assert bars[0].start <= by_minute[0][0]
    assert by_minute[-1][0] < bars[-1].start + timedelta(minutes=bars[-1].minutes)
    assert {two.start - one.start for one, two in pairwise(bars)} <= {timedelta(minutes=bars[0].minutes)}


def test_a_short_sending_is_drawn_by_the_minute_and_a_long_one_by_round_hours() -> None:
    short = stretches([(NOW, 5), (NOW + timedelta(minutes=3), 7)])
    assert [bar.count for bar in short] == [5, 0, 0, 7]
    long = stretches([(NOW, 5), (NOW + timedelta(days=5), 7)])
    assert (long[0].minutes, long[0].start.minute) == (60, 0)
    assert stretches([]) == []


def test_what_a_newsletter_wants_before_an_issue_goes() -> None:
    assert release_of("none", None, NOW) == (False, None)
    assert release_of("click", None, NOW) == (True, None)
    assert release_of("delay", 45, NOW) == (True, NOW + timedelta(minutes=45))
    # Without its minutes (a row written by something else), it is better to wait than to send.
    assert release_of("delay", None, NOW) == (True, None)


@pytest.mark.parametrize(
    ("state", "counts", "said"),
    [
        ("cancelled", {"sent": 115, "cancelled": 4890}, "115 sent, 4,890 cancelled"),
        ("cancelled", {"cancelled": 3, "queued": 2}, "0 sent, 3 cancelled, 2 about to be cancelled"),
        ("paused", {"stored": 1, "held": 9, "failed": 1}, "1 sent, 1 failed, 9 waiting"),
        ("sending", {"sent": 1, "queued": 2}, "1 sent, 2 to go"),
        ("sent", {"sent": 7}, "7 sent"),
    ],
)
def test_what_became_of_its_letters_is_told_in_words(state: str, counts: dict[str, int], said: str) -> None:
    assert told(state, counts) == said


def test_what_waits_says_how_much_of_it_is_held() -> None:
    assert waiting_words(0, 0) == "0"
    assert waiting_words(1_234, 0) == "1,234"
    assert waiting_words(0, 3_701) == "0 · 3,701 held"


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_a_rest_has_an_end_within_hours(failures: int, chance: float) -> None:
    rest = domain_rests_until(failures, HOLDUP_NOW, chance=chance) - HOLDUP_NOW
    assert FIRST_REST / 2 <= rest <= 2 * LONGEST_REST


def test_a_refusal_soon_after_a_rest_is_the_same_trouble() -> None:
    assert is_over(None, HOLDUP_NOW)
    assert not is_over(HOLDUP_NOW, HOLDUP_NOW + WELL_AFTER)
    assert is_over(HOLDUP_NOW, HOLDUP_NOW + WELL_AFTER + timedelta(seconds=1))


def test_only_where_nobody_takes_the_letter_is_it_everybodys() -> None:
    assert is_everybodys(3, sent=False)
    assert not is_everybodys(3, sent=True)
    assert not is_everybodys(2, sent=False)


@pytest.mark.parametrize(
    ("domains", "refused", "sent", "untried", "pauses"),
    [
        ("a", 1, 0, True, False),
        ("a", 1, 0, False, True),
        ("abc", 3, 0, True, True),
        ("a", 90, 10, False, False),
        ("abc", 3, 97, False, False),
        ("abc", 30, 70, True, True),
    ],
)
def test_a_sender_is_refused_as_such_where_few_take_it(
    domains: str, refused: int, sent: int, untried: bool, pauses: bool
) -> None:
    assert refuses_sender(set(domains), refused=refused, sent=sent, untried=untried) is pauses


def test_there_is_advice_for_all_that_is_about_us() -> None:
    about_us = [one for one in Meaning if one.concern is Concern.US]
    assert {one for one in about_us if not advice(one)} == {Meaning.POLICY}
