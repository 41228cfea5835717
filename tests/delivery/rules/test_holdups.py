"""Whether a refusal that is our fault concerns one domain, the newsletter, or everybody."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.rules.meaning import Concern, Meaning, advice
from delivery.rules.progress import (
    FIRST_REST,
    LONGEST_REST,
    WELL_AFTER,
    domain_rests_until,
    is_everybodys,
    is_over,
    refuses_sender,
)

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_a_rest_has_an_end_within_hours(failures: int, chance: float) -> None:
    rest = domain_rests_until(failures, NOW, chance=chance) - NOW
    assert FIRST_REST / 2 <= rest <= 2 * LONGEST_REST


def test_a_refusal_soon_after_a_rest_is_the_same_trouble() -> None:
    assert is_over(None, NOW)
    assert not is_over(NOW, NOW + WELL_AFTER)
    assert is_over(NOW, NOW + WELL_AFTER + timedelta(seconds=1))


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
