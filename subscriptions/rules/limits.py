"""How many mails sign-ups may cause: by one reader's network, to one address, of one newsletter.

A period is counted in slices. What fell into the slices of the last period and a bit may not exceed the
limit, so no period, wherever it begins, ever holds more.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv6Address, IPv6Network, ip_address, ip_network

SLICES = 6
PERIODS = {"hour": timedelta(hours=1), "day": timedelta(days=1)}
LONGEST = PERIODS["day"]
SCOPES = ("ip", "address", "newsletter", "domain")
USUAL = "ip=10/hour, ip=30/day, address=10/day, newsletter=1000/hour, domain=1000/hour"
HIGHEST = 1_000_000_000
_NEAR = tuple(
    map(
        ip_network,
        (
            *("127.0.0.0/8", "::1/128"),  # loopback
            *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"),  # RFC 1918, RFC 4193
            *("169.254.0.0/16", "fe80::/10"),  # link-local
        ),
    )
)
_LIMIT = re.compile(r"(\w+)\s*=\s*([0-9]{1,10})\s*/\s*(\w+)")


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `most` of a scope's things in any `period`."""

    scope: str
    most: int
    period: timedelta

    @property
    def slice(self) -> timedelta:
        return self.period / SLICES


def slice_of(limit: Limit, moment: datetime) -> datetime:
    """When the slice began that a moment falls into."""
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return epoch + (moment - epoch) // limit.slice * limit.slice


def counts_from(limit: Limit, now: datetime) -> datetime:
    """The first slice that still counts: one that may hold something younger than the period."""
    return slice_of(limit, now) - limit.period


def is_over(limit: Limit, used: int) -> bool:
    """Whether one more would be too much."""
    return used >= limit.most


def parse_limits(text: str) -> tuple[Limit, ...]:
    """The limits of SIGN_UP_LIMITS; a scope it does not name has the usual ones. Raises ValueError."""
    named = _parsed(text)
    scopes = {limit.scope for limit in named}
    return (*named, *(limit for limit in _parsed(USUAL) if limit.scope not in scopes))


def _parsed(text: str) -> tuple[Limit, ...]:
    return tuple(_limit(part.strip()) for part in text.split(",") if part.strip())


def _limit(text: str) -> Limit:
    match = _LIMIT.fullmatch(text)
    if match is None or match[1] not in SCOPES or match[3] not in PERIODS or int(match[2]) > HIGHEST:
        raise ValueError(text)
    return Limit(match[1], int(match[2]), PERIODS[match[3]])


def is_near(ip: str) -> bool:
    """Whether it is an address of this machine or of a private network: no reader's, most likely."""
    try:
        return any(ip_address(ip) in network for network in _NEAR)
    except ValueError:
        return False


def network_of(ip: str) -> str:
    """Whose address that is: an IPv4 address, or the /64 that one IPv6 connection has for itself.

    Empty for what is no address (a server behind a socket of this machine).
    """
    try:
        address = ip_address(ip.partition("%")[0])
    except ValueError:
        return ""
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or IPv6Network((int(address) >> 64 << 64, 64)))
    return str(address)
