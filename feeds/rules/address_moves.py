"""Permanent redirects, which count after several readings, as servers err."""

from collections.abc import Sequence
from urllib.parse import urlsplit

# RFC 9110 §15.4.
PERMANENT = frozenset({301, 308})
BELIEVED_AFTER = 5


def permanent_target(url: str, redirects: Sequence[tuple[int, str]]) -> str:
    """Never follow from https to http."""
    target = ""
    for status, to in redirects:
        if status not in PERMANENT:
            break
        target = to
    if urlsplit(url).scheme == "https" and urlsplit(target).scheme != "https":
        return ""
    return "" if target == url else target


def count_move(target: str, *, before: str, polls: int) -> tuple[str, int]:
    """Return the number of consecutive readings, too."""
    if not target:
        return "", 0
    return target, polls + 1 if target == before else 1


def is_believed(polls: int) -> bool:
    return polls >= BELIEVED_AFTER
