"""Answers of the DNS. Pure: asking is done elsewhere."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum


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
