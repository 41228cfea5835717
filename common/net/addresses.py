import re
import socket
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address
# Raises OSError if there are none.
Resolver = Callable[[str, int], Sequence[str]]

MAX_ADDRESSES = 8
# Prefix length → multiple of one client's limit.
PREFIXES = {64: 1, 56: 2, 48: 4}
UNREADABLE_ADDRESS = "unreadable"
# Global unicast (RFC 4291 §2.4). Others are local or multicast, or may lead to any IPv4 address: mapped
# (::ffff:0:0/96) or translated (64:ff9b::/96).
_GLOBAL_IPV6 = ip_network("2000::/3")
# RFC 6052 §2.1.
_NAT64 = ip_network("64:ff9b::/96")
_REFUSED = tuple(
    map(
        ip_network,
        (
            "192.0.0.0/24",  # protocol assignments
            "192.88.99.0/24",  # 6to4 relays, withdrawn by RFC 7526
            "2001::/23",  # Teredo, ORCHID and others
            "2002::/16",  # 6to4: contains an IPv4 address
            "3fff::/20",  # documentation (RFC 9637)
        ),
    )
)
NEAR = tuple(
    map(
        ip_network,
        (
            *("127.0.0.0/8", "::1/128"),  # loopback
            *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"),  # RFC 1918, RFC 4193
            *("169.254.0.0/16", "fe80::/10"),  # link-local
        ),
    )
)
# In a request's META: the visitor by the word of a proxy that isn't in TRUSTED_PROXIES. Anybody may have
# written it, so it only counts sign-ups.
CLAIMED = "feedletter.claimed_address"
# In `Forwarded` (RFC 7239 §4).
FORWARDED_FOR = re.compile(r'\bfor\s*=\s*("[^"]*"|[^\s;,]+)', re.IGNORECASE)


class NotAllowed(Exception):
    """No address of the host may be called; `args[0]` is one of them.

    urllib3 would treat an OSError as a broken connection.
    """


def read_address(text: str) -> Address | None:
    """Parse an address with optional port, brackets and zone; None if it is invalid.

    Returns the IPv4 address within a mapped, 6to4 or NAT64 one.
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


def is_within(address: str, networks: Sequence[Network]) -> bool:
    """A server that listens on IPv6 sees IPv4 clients as ::ffff:192.0.2.1."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    parsed = getattr(parsed, "ipv4_mapped", None) or parsed
    return any(parsed in network for network in networks)


def is_near(ip: str) -> bool:
    """Return whether it is local, private or unreadable, and so hardly a visitor's."""
    address = read_address(ip)
    return address is None or any(address in network for network in NEAR)


def may_be_called(address: Address, allow: Sequence[Network]) -> bool:
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
    """Raises OSError if the name has no address, NotAllowed if none may be called."""
    addresses = list(dict.fromkeys((resolve or look_up)(host, port)))
    allowed = [address for address in addresses if may_be_called(ip_address(address.split("%")[0]), allow)]
    if not allowed:
        raise NotAllowed(addresses[0] if addresses else host)
    return allowed[:MAX_ADDRESSES]


def look_up(host: str, port: int) -> list[str]:
    answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(answer[4][0]) for answer in answers]


def networks_of(ip: str) -> dict[str, int]:
    """Return the networks that count a client, each with its multiple of the limit.

    An IPv6 address counts as its /64, /56 and /48: providers give one of these to a customer, who would
    otherwise be 65,536 clients. Invalid text (a server behind a Unix socket) counts as one client.
    """
    address = read_address(ip)
    if address is None:
        return {UNREADABLE_ADDRESS: 1}
    if isinstance(address, IPv4Address):
        return {str(address): 1}
    number = int(address)
    return {
        str(IPv6Network((number >> 128 - length << 128 - length, length))): times
        for length, times in PREFIXES.items()
    }
