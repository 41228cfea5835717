"""When refusals pause a domain, and when the newsletter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.rules.refusals import (
    LAST_LETTERS,
    Answers,
    doubts_us,
    is_about_identity,
    is_refusal,
    large,
    refuses,
    stops_newsletter,
)


@st.composite
def answers(draw: st.DrawFn) -> Answers:
    count = draw(st.integers(0, LAST_LETTERS))
    refused = draw(st.integers(0, count))
    return Answers(count, refused, draw(st.integers(0, refused)))


@pytest.mark.parametrize(
    ("count", "refused", "pauses"),
    [(100, 20, True), (100, 19, False), (10, 10, True), (9, 9, False), (50, 10, True), (51, 10, False)],
)
def test_ten_recipients_and_a_fifth_of_the_last_hundred_pause_a_domain(
    count: int, refused: int, pauses: bool
) -> None:
    assert refuses(Answers(count, refused)) is pauses


@given(answers())
def test_a_domain_is_never_paused_for_fewer_than_ten_recipients_or_a_fifth(given: Answers) -> None:
    assert refuses(given) == (given.refused >= 10 and given.refused * 5 >= given.count)


@given(answers(), st.booleans(), st.integers(0, 10))
def test_a_newsletter_stops_only_for_large_domains_three_of_them_or_for_our_identity(
    given: Answers, is_large: bool, others: int
) -> None:
    stops = stops_newsletter(given, is_large=is_large, large_that_refuse=others)
    assert stops == (is_large and (doubts_us(given) or (refuses(given) and others >= 3)))


@given(answers(), st.integers(0, 2))
def test_without_a_word_about_our_identity_two_large_domains_stop_nothing(given: Answers, large: int) -> None:
    plain = Answers(given.count, given.refused)
    assert not stops_newsletter(plain, is_large=True, large_that_refuse=large)


def test_one_odd_server_does_not_put_our_identity_in_doubt() -> None:
    assert not doubts_us(Answers(100, 2, 2))
    assert not doubts_us(Answers(100, 30, 19))
    assert doubts_us(Answers(3, 3, 3))
    assert doubts_us(Answers(100, 20, 20))


@pytest.mark.parametrize(
    ("status", "refusal", "identity"),
    [
        ("5.7.1", True, False),
        ("5.7.24", True, False),
        ("5.7.25", True, True),
        ("5.7.26", True, True),
        ("5.7.29", True, True),
        ("5.7.30", True, False),
        ("5.7.515", True, True),
        ("5.7.5", True, False),
        ("5.1.1", False, False),
        ("4.7.26", False, False),
        ("", False, False),
        ("5.7.1x", False, False),
    ],
)
def test_what_a_code_is_about(status: str, refusal: bool, identity: bool) -> None:
    assert (is_refusal(status), is_about_identity(status)) == (refusal, identity)


def test_a_domain_is_large_with_a_hundredth_of_the_recipients() -> None:
    domains = ["big.example"] * 97 + ["small.example"] + [""] * 2
    assert large(domains) == {"big.example": 0.97, "small.example": 0.01}
    assert large([*domains, "one.example", "two.example"]) == {"big.example": 97 / 102}
    assert large([]) == {}


@given(st.lists(st.sampled_from(["a.example", "b.example", "c.example", ""])))
def test_no_more_than_a_hundred_domains_are_large(domains: list[str]) -> None:
    shares = large(domains)
    assert all(0.01 <= share <= 1 for share in shares.values())
    assert sum(shares.values()) <= 1.000001
