"""How many mails sign-ups may cause: pure."""

from datetime import UTC, datetime, timedelta
from ipaddress import IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subscriptions.rules.limits import (
    NO_ADDRESS,
    PERIODS,
    PREFIXES,
    USUAL_LIMITS,
    Limit,
    counted_as,
    counts_from,
    is_reached,
    networks_of,
    parse_limits,
    slice_of,
)
from tests.subscriptions.rules.strategies import moments

HOUR, DAY = PERIODS["hour"], PERIODS["day"]
limits = st.builds(Limit, st.just("ip"), st.integers(0, 12), st.sampled_from([HOUR, DAY]))


def test_the_usual_limits_hold_for_what_is_not_named() -> None:
    assert parse_limits("") == parse_limits(USUAL_LIMITS)
    named = parse_limits("ip=3/day, newsletter = 7 / hour")
    assert [limit for limit in named if limit.scope == "ip"] == [Limit("ip", 3, DAY)]
    assert Limit("newsletter", 7, HOUR) in named
    assert Limit("address", 10, DAY) in named


@pytest.mark.parametrize(
    "text", ["ip", "ip=10", "ip=ten/day", "ip=-1/day", "ip=1/week", "reader=1/day", "ip=9999999999/day"]
)
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=text):
        parse_limits(text)


@given(limits, moments)
def test_a_moment_lies_in_its_slice(limit: Limit, moment: datetime) -> None:
    began = slice_of(limit, moment)
    assert began <= moment < began + limit.slice
    assert slice_of(limit, began) == began


@given(limits, moments)
def test_all_that_is_younger_than_the_period_counts(limit: Limit, moment: datetime) -> None:
    assert counts_from(limit, moment) <= slice_of(limit, moment - limit.period + timedelta(microseconds=1))


@given(limits, st.lists(st.integers(0, 3 * 86400), max_size=150))
def test_no_period_wherever_it_begins_holds_more(limit: Limit, seconds: list[int]) -> None:
    begin = datetime(2026, 3, 2, tzinfo=UTC)
    taken: list[datetime] = []
    for now in sorted(begin + timedelta(seconds=second) for second in seconds):
        used = sum(slice_of(limit, moment) >= counts_from(limit, now) for moment in taken)
        if not is_reached(limit, used):
            taken.append(now)
    for moment in taken:
        assert sum(moment <= other < moment + limit.period for other in taken) <= limit.most


@given(limits, moments)
def test_after_a_period_and_a_slice_nothing_counts_any_more(limit: Limit, moment: datetime) -> None:
    assert counts_from(limit, moment + limit.period + limit.slice) > slice_of(limit, moment)


@pytest.mark.parametrize(
    ("ip", "network"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("203.0.113.7:4711", "203.0.113.7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("2002:cb00:7107::1", "203.0.113.7"),
        ("64:ff9b::203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2:3:4:5:6]:443", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", NO_ADDRESS),
        ("unix:", NO_ADDRESS),
        ("unknown", NO_ADDRESS),
        ("203.0.113.7, 10.0.0.1", NO_ADDRESS),
    ],
)
def test_a_reader_is_one_ipv4_address_or_one_ipv6_network(ip: str, network: str) -> None:
    assert next(iter(networks_of(ip))) == network


def test_whoever_has_a_56_or_a_48_is_one_reader_a_few_times_over() -> None:
    assert networks_of("2001:db8:1:2ff:3::6") == {
        "2001:db8:1:2ff::/64": 1,
        "2001:db8:1:200::/56": 2,
        "2001:db8:1::/48": 4,
    }


@given(st.integers(0, 2**128 - 1), st.integers(0, 2**64 - 1))
def test_no_address_of_a_64_counts_apart(number: int, other: int) -> None:
    first, second = (
        networks_of(str(IPv6Address(number))),
        networks_of(str(IPv6Address(number >> 64 << 64 | other))),
    )
    if len(first) == len(second) == len(PREFIXES):
        assert first == second


@given(st.text(max_size=60))
def test_any_text_is_somebody(text: str) -> None:
    assert networks_of(text)


@pytest.mark.parametrize(
    "core",
    ["ada@gmail.com", "a.d.a@gmail.com", "ada+x@gmail.com", "A.da+x+y@GoogleMail.com", "ada.@gmail.com"],
)
def test_the_spellings_of_one_mailbox_count_together(core: str) -> None:
    assert counted_as(core) == "ada@gmail.com"


def test_different_people_count_apart() -> None:
    assert (
        len(
            {counted_as(core) for core in ("ada@a.example", "ada@b.example", "bob@a.example", "+x@a.example")}
        )
        == 4
    )
