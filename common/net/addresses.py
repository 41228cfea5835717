"""Reads addresses, and says which an outgoing request may reach. Pure but for the look-up of names."""

import socket
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address
# A name and a port → its addresses, as text. Raises OSError when there are none.
Resolver = Callable[[str, int], Sequence[str]]

MAX_ADDRESSES = 8
# Prefix length → how many times the limit of one client.
PREFIXES = {64: 1, 56: 2, 48: 4}
NO_ADDRESS = "unreadable"
# Global unicast (RFC 4291 §2.4). Addresses outside are local (fc00::, fe80::, fec0::) or multicast, or they
# are mapped (::ffff:0:0/96) or translated (64:ff9b::/96) and may lead to any IPv4 address.
_GLOBAL_IPV6 = ip_network("2000::/3")
# RFC 6052, 2.1: the well-known prefix.
_NAT64 = ip_network("64:ff9b::/96")
_REFUSED = tuple(
    map(
        ip_network,
        (
            "192.0.0.0/24",  # protocol assignments
            "192.88.99.0/24",  # 6to4 relays, withdrawn by RFC 7526
            "2001::/23",  # Teredo, ORCHID and their like
            "2002::/16",  # 6to4: holds an IPv4 address
            "3fff::/20",  # documentation (RFC 9637)
        ),
    )
)


class NotAllowed(Exception):
    """Every address of the host is one that may not be called. `args[0]` is one of them.

    Not an OSError: urllib3 would take it for a broken connection.
    """


def read_address(text: str) -> Address | None:
    """The address that a server or proxy wrote, perhaps with port, brackets or zone; None for anything else.

    An IPv4 address that stands within an IPv6 one (mapped, 6to4, NAT64) is that IPv4 address.
    """
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address


def may_be_called(address: Address, allow: Sequence[Network]) -> bool:
    """Whether it is a public address, or within one of the networks of the exception list."""
    if any(address in network for network in allow):
        return True
    if isinstance(address, IPv6Address) and address not in _GLOBAL_IPV6:
        return False
    if not address.is_global or address.is_multicast or address.is_reserved:
        return False
    return not any(address in network for network in _REFUSED)


def callable_addresses(
    host: str, port: int, *, allow: Sequence[Network], resolve: Resolver | None = None
) -> list[str]:
    """The host's addresses that may be called, at most eight, in the resolver's order.

    Raises OSError when the name has none, NotAllowed when none of them may be called.
    """
    found = list(dict.fromkeys((resolve or look_up)(host, port)))
    allowed = [address for address in found if may_be_called(ip_address(address.split("%")[0]), allow)]
    if not allowed:
        raise NotAllowed(found[0] if found else host)
    return allowed[:MAX_ADDRESSES]


def look_up(host: str, port: int) -> list[str]:
    """What the system's resolver says."""
    answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(answer[4][0]) for answer in answers]


def networks_of(ip: str) -> dict[str, int]:
    """Return the networks that a client's address is counted by, each with the multiple of the limit.

    An IPv4 address counts by itself. An IPv6 address counts as the /64 of one connection, and as its /56 and
    /48: providers give one of those to a customer, who would otherwise be 65,536 clients. Anything that is no
    address (a server behind a socket of this machine) counts as one client.
    """
    address = read_address(ip)
    if address is None:
        return {NO_ADDRESS: 1}
    if isinstance(address, IPv4Address):
        return {str(address): 1}
    number = int(address)
    return {
        str(IPv6Network((number >> 128 - length << 128 - length, length))): times
        for length, times in PREFIXES.items()
    }
