"""The networks by which a client's address is counted."""

from ipaddress import IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.net.addresses import PREFIXES, UNREADABLE_ADDRESS, networks_of


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
        ("", UNREADABLE_ADDRESS),
        ("unix:", UNREADABLE_ADDRESS),
        ("unknown", UNREADABLE_ADDRESS),
        ("203.0.113.7, 10.0.0.1", UNREADABLE_ADDRESS),
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
