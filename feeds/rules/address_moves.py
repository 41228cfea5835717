"""Permanent redirects: believed once they have held for several readings, as a server may err for an hour."""

from collections.abc import Sequence
from urllib.parse import urlsplit

# RFC 9110, 15.4: these say that the old address should not be used any more; 302, 303 and 307 do not.
PERMANENT = frozenset({301, 308})
BELIEVED_AFTER = 5


def permanent_target(url: str, redirects: Sequence[tuple[int, str]]) -> str:
    """Where permanent redirects alone lead from `url`; "" when the first one is temporary or there is none.

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
    """The target to remember, and at how many readings in a row it was seen, with this one."""
    if not target:
        return "", 0
    return target, polls + 1 if target == before else 1


def is_believed(polls: int) -> bool:
    return polls >= BELIEVED_AFTER
