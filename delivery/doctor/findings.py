"""What the doctor finds, and what to change. Pure."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, StrEnum


class DnsStatus(Enum):
    FOUND = "found"
    # NONE: the name is there, but has no record of that type. NO_NAME: it is not there at all.
    NONE = "none"
    NO_NAME = "no such name"
    FAILED = "no answer"


@dataclass(frozen=True, slots=True)
class DnsAnswer:
    """Records as text: TXT with its strings joined, MX as "10 host", names without the final dot."""

    status: DnsStatus
    records: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        return self.status is DnsStatus.FAILED


# A name and a type (TXT, MX, A, AAAA, PTR) → the answer. Raises nothing.
Lookup = Callable[[str, str], DnsAnswer]


class DoctorVerdict(StrEnum):
    GOOD = "good"
    BETTER = "could be better"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Publish:
    """A TXT record to put into the DNS, ready to be copied; `name` without the final dot."""

    name: str
    value: str

    @property
    def zone_line(self) -> str:
        """As a zone file has it; strings have at most 255 octets (RFC 1035 §3.3)."""
        pieces = " ".join(f'"{self.value[at : at + 255]}"' for at in range(0, len(self.value), 255))
        return f"{self.name}. IN TXT {pieces}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: what was found, word for word, and what to change.

    `topic` is a short name such as SPF, `about` the domain, server or address it is about.
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
    """The worst of all; good when there are none."""
    order = list(DoctorVerdict)
    return max((finding.verdict for finding in findings), key=order.index, default=DoctorVerdict.GOOD)
