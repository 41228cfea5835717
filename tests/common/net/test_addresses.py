"""Addresses that may be called.

The networks by which a client's address is counted.
"""

from ipaddress import IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.net.addresses import (
    PREFIXES,
    UNREADABLE_ADDRESS,
    NotAllowed,
    callable_addresses,
    may_be_called,
    networks_of,
)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.9.9.9",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "192.0.0.8",
        "192.0.2.1",
        "192.88.99.1",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::7f00:1",
        "::ffff:127.0.0.1",
        "::ffff:93.184.215.14",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "3fff::1",
        "5f00::1",
        "fc00::1",
        "fd12::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ],
)
def test_an_address_that_is_not_public_is_refused(address: str) -> None:
    assert not may_be_called(ip_address(address), [])


@pytest.mark.parametrize("address", ["93.184.215.14", "8.8.8.8", "2606:2800:220:1::1", "2a01:4f8::1"])
def test_a_public_address_is_allowed(address: str) -> None:
    assert may_be_called(ip_address(address), [])


def test_the_exceptions_are_exactly_what_they_name() -> None:
    allow = [ip_network("10.0.0.0/24"), ip_network("fd00::/8")]
    assert may_be_called(ip_address("10.0.0.9"), allow)
    assert may_be_called(ip_address("fd00::9"), allow)
    assert not may_be_called(ip_address("10.0.1.9"), allow)
    assert not may_be_called(ip_address("::ffff:10.0.0.9"), allow)


def test_of_a_hosts_addresses_the_public_ones_are_left() -> None:
    answers = ["10.0.0.1", "8.8.8.8", "8.8.8.8", "fe80::1%eth0", "1.1.1.1"]
    assert callable_addresses("h", 80, allow=[], resolve=lambda *_: answers) == ["8.8.8.8", "1.1.1.1"]
    with pytest.raises(NotAllowed, match=r"10\.0\.0\.1"):
        callable_addresses("h", 80, allow=[], resolve=lambda *_: ["10.0.0.1"])


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "127.1", "localhost"])
def test_other_spellings_of_loopback_are_seen_through(host: str) -> None:
    with pytest.raises((NotAllowed, OSError)):
        callable_addresses(host, 80, allow=[])


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
