"""Permanent redirects.

A redirect counts once it has held for several readings, as a server may err for an hour.
"""

from collections.abc import Sequence
from urllib.parse import urlsplit

# RFC 9110 §15.4: the old address should no longer be used. Not so for 302, 303 and 307.
PERMANENT = frozenset({301, 308})
BELIEVED_AFTER = 5


def permanent_target(url: str, redirects: Sequence[tuple[int, str]]) -> str:
    """Return where permanent redirects alone lead, or "" without any.

    Never from https to http: that would be believed for good.
    """
    target = ""
    for status, to in redirects:
        if status not in PERMANENT:
            break
        target = to
    if urlsplit(url).scheme == "https" and urlsplit(target).scheme != "https":
        return ""
    return "" if target == url else target


def count_move(target: str, *, before: str, polls: int) -> tuple[str, int]:
    """Return the target to remember and its number of consecutive readings."""
    if not target:
        return "", 0
    return target, polls + 1 if target == before else 1


def is_believed(polls: int) -> bool:
    return polls >= BELIEVED_AFTER
