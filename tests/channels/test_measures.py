"""Text length as services count it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.http.links import Measure, graphemes, octets, sms_parts, utf16_units, within

FAMILY = "👩‍👩‍👧"


@pytest.mark.parametrize(
    ("measure", "text", "expected"),
    [
        (graphemes, FAMILY * 2, 2),
        (graphemes, "e\u0301", 1),
        (utf16_units, "a🦄", 3),
        (utf16_units, FAMILY, 8),
        (octets, "Žluť", 6),
        (sms_parts, "", 1),
        (sms_parts, "a" * 160, 1),
        (sms_parts, "a" * 161, 2),
        (sms_parts, "a" * 306, 2),
        (sms_parts, "€" * 80, 1),
        (sms_parts, "€" * 81, 2),
        (sms_parts, "ř" * 70, 1),
        (sms_parts, "ř" * 71, 2),
        (sms_parts, "🦄" * 36, 2),
    ],
)
def test_each_service_counts_in_its_own_way(measure: Measure, text: str, expected: int) -> None:
    assert measure(text) == expected


@given(st.text(max_size=200))
def test_utf16_units_are_what_an_encoder_makes(text: str) -> None:
    assert utf16_units(text) == len(text.encode("utf-16-le", "surrogatepass")) // 2


def test_a_text_must_be_within_all_limits() -> None:
    fits = within((graphemes, 3), (octets, 20))
    assert fits("abc")
    assert not fits("abcd")
    assert not fits(FAMILY * 2)


def test_a_letter_of_very_many_code_points_is_not_counted_out() -> None:
    assert not within((graphemes, 3))("a" + "\u0301" * 100)
