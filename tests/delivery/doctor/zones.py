"""A DNS of the test's own, without a server: names, types and texts."""

from collections.abc import Sequence

from delivery.doctor.answers import Answer, Lookup, Status

Zone = dict[tuple[str, str], Sequence[str]]


def zone(records: Zone, *, failing: Sequence[str] = ()) -> Lookup:
    """A look-up in these records; names that are `failing` get no answer."""

    def lookup(name: str, kind: str) -> Answer:
        if name in failing:
            return Answer(Status.FAILED)
        if texts := records.get((name, kind)):
            return Answer(Status.FOUND, tuple(texts))
        known = any(there == name for there, _ in records)
        return Answer(Status.NONE if known else Status.NO_NAME)

    return lookup


def txt(*texts: str) -> Answer:
    return Answer(Status.FOUND, texts) if texts else Answer(Status.NO_NAME)
