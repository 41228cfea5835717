"""The effect of a sign-up: pure."""

import unicodedata
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subscriptions.rules.sign_up import SignUpReply, answer, may_write, tidy_name

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("", SignUpReply.CONFIRM),
        ("unconfirmed", SignUpReply.CONFIRM),
        ("unsubscribed", SignUpReply.CONFIRM),
        ("confirmed", SignUpReply.ALREADY),
    ],
)
def test_each_standing_has_its_answer(status: str, expected: SignUpReply) -> None:
    assert answer(status, earlier=[], now=NOW) is expected


def test_one_mail_in_five_minutes() -> None:
    assert not may_write(earlier=[NOW - timedelta(minutes=4, seconds=59)], now=NOW)
    assert may_write(earlier=[NOW - timedelta(minutes=5)], now=NOW)


def test_five_mails_in_a_day() -> None:
    five = [NOW - timedelta(hours=hours) for hours in (1, 2, 3, 4, 5)]
    assert not may_write(earlier=five, now=NOW)
    assert may_write(earlier=five[:4], now=NOW)
    assert may_write(earlier=five, now=NOW + timedelta(hours=19))


@given(st.lists(st.integers(min_value=0, max_value=3 * 86400), max_size=200))
def test_however_often_it_is_asked_the_limits_hold(seconds: list[int]) -> None:
    written: list[datetime] = []
    for moment in sorted(NOW + timedelta(seconds=second) for second in seconds):
        if answer("", earlier=written, now=moment) is SignUpReply.CONFIRM:
            written.append(moment)
    for moment in written:
        assert sum(moment <= other < moment + timedelta(days=1) for other in written) <= 5
        assert not any(moment < other < moment + timedelta(minutes=5) for other in written)


@given(st.text())
def test_a_name_is_one_short_line_without_controls(name: str) -> None:
    tidy = tidy_name(name)
    assert len(tidy) <= 100
    assert tidy == tidy.strip()
    assert not [char for char in tidy if unicodedata.category(char)[0] == "C"]
    assert tidy_name(tidy) == tidy


def test_a_name_keeps_its_letters() -> None:
    assert tidy_name("  Ada \r\n Bcc: x@y.example\tLovelace ") == "Ada Bcc: x@y.example Lovelace"
    assert tidy_name("Łucja O’Hara-Ωμέγα") == "Łucja O’Hara-Ωμέγα"
    assert tidy_name("a" * 5000) == "a" * 100
