"""DNS look-ups for tests, without a server: names, types and texts."""

from collections.abc import Sequence

from delivery.doctor.findings import DnsAnswer, DnsStatus, Lookup

Zone = dict[tuple[str, str], Sequence[str]]


def zone(records: Zone, *, failing: Sequence[str] = ()) -> Lookup:
    """Return a look-up in these records; `failing` names get no response."""

    def lookup(name: str, kind: str) -> DnsAnswer:
        if name in failing:
            return DnsAnswer(DnsStatus.FAILED)
        if texts := records.get((name, kind)):
            return DnsAnswer(DnsStatus.FOUND, tuple(texts))
        known = any(there == name for there, _ in records)
        return DnsAnswer(DnsStatus.NONE if known else DnsStatus.NO_NAME)

    return lookup


def txt(*texts: str) -> DnsAnswer:
    return DnsAnswer(DnsStatus.FOUND, texts) if texts else DnsAnswer(DnsStatus.NO_NAME)
