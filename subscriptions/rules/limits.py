"""Limits of mail caused by sign-ups.

A period has slices. All that overlap it count, so the limit holds for any period.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network

from common.net.addresses import read_address

SLICES = 6
PERIODS = {"hour": timedelta(hours=1), "day": timedelta(days=1)}
LONGEST_PERIOD = PERIODS["day"]
SCOPES = ("ip", "address", "newsletter", "domain")
USUAL_LIMITS = "ip=10/hour, ip=30/day, address=10/day, newsletter=1000/hour, domain=1000/hour"
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
    scope: str
    most: int
    period: timedelta

    @property
    def slice(self) -> timedelta:
        return self.period / SLICES


def slice_of(limit: Limit, moment: datetime) -> datetime:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return epoch + (moment - epoch) // limit.slice * limit.slice


def counts_from(limit: Limit, now: datetime) -> datetime:
    return slice_of(limit, now) - limit.period


def is_reached(limit: Limit, used: int) -> bool:
    return used >= limit.most


def parse_limits(text: str) -> tuple[Limit, ...]:
    """Scopes not named have USUAL_LIMITS. Raises ValueError."""
    named = _parsed(text)
    scopes = {limit.scope for limit in named}
    return (*named, *(limit for limit in _parsed(USUAL_LIMITS) if limit.scope not in scopes))


def _parsed(text: str) -> tuple[Limit, ...]:
    limits = []
    for part in filter(None, map(str.strip, text.split(","))):
        match = _LIMIT.fullmatch(part)
        if match is None or match[1] not in SCOPES or match[3] not in PERIODS or int(match[2]) > HIGHEST:
            raise ValueError(part)
        limits.append(Limit(match[1], int(match[2]), PERIODS[match[3]]))
    return tuple(limits)


def is_near(ip: str) -> bool:
    """Return whether it is local or private, and so hardly a reader's."""
    address = read_address(ip)
    return address is None or any(address in network for network in _NEAR)


def counted_as(core: str) -> str:
    """Return the likely mailbox, without +tag, dots and case. Two people may share a limit."""
    local, _, domain = core.lower().rpartition("@")
    mailbox = local.partition("+")[0].replace(".", "")
    return f"{mailbox}@{'gmail.com' if domain == 'googlemail.com' else domain}"
