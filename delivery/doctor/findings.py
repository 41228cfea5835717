"""Findings of the doctor. Pure."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, StrEnum


class DnsStatus(Enum):
    FOUND = "found"
    # NONE: the name has no such record. NO_NAME: it does not exist.
    NONE = "none"
    NO_NAME = "no such name"
    FAILED = "no answer"


@dataclass(frozen=True, slots=True)
class DnsAnswer:
    """Records as text: TXT joined, MX as "10 host", names without the final dot."""

    status: DnsStatus
    records: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        return self.status is DnsStatus.FAILED


# Name and type (TXT, MX, A, AAAA, PTR) → answer. Raises nothing.
Lookup = Callable[[str, str], DnsAnswer]


class DoctorVerdict(StrEnum):
    GOOD = "good"
    BETTER = "could be better"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Publish:
    """TXT record to publish."""

    name: str
    value: str

    @property
    def zone_line(self) -> str:
        """Return the zone file's line; strings have at most 255 octets (RFC 1035 §3.3)."""
        pieces = " ".join(f'"{self.value[at : at + 255]}"' for at in range(0, len(self.value), 255))
        return f"{self.name}. IN TXT {pieces}"


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of a check, with the records verbatim, and what to change.

    `topic`: such as SPF. `about`: domain, server or address.
    """

    topic: str
    about: str
    looked_at: str
    verdict: DoctorVerdict
    says: str
    found: tuple[str, ...] = ()
    change: str = ""
    publish: Publish | None = None


def worst_verdict(findings: Iterable[Finding]) -> DoctorVerdict:
    """Return the worst, good if there is none."""
    order = list(DoctorVerdict)
    return max((finding.verdict for finding in findings), key=order.index, default=DoctorVerdict.GOOD)
