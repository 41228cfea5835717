"""Reads what a document says of itself: bounded, and without values that make no sense."""

import re
from collections.abc import Iterable

from feeds.parsing.media import absolute

MAX_HUBS = 5
MAX_TTL = 31 * 24 * 60
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def ttl(text: object) -> int | None:
    """Minutes between two readings, at most 31 days; None when there is no such number."""
    written = str(text or "").strip()
    minutes = int(written) if re.fullmatch(r"[0-9]{1,9}", written) else 0
    return min(minutes, MAX_TTL) or None


def hours(texts: Iterable[object]) -> tuple[int, ...]:
    """Hours of the day, 0 to 23, in order. RSS 0.91 counts to 24, which is midnight."""
    written = [str(text).strip() for text in texts]
    found = {int(text) % 24 for text in written if re.fullmatch(r"[0-9]{1,2}", text) and int(text) <= 24}
    return tuple(sorted(found))


def days(texts: Iterable[object]) -> tuple[int, ...]:
    """English names of days → 0 (Monday) to 6, in order."""
    names = {str(text).strip().lower() for text in texts}
    return tuple(number for number, name in enumerate(DAYS) if name in names)


def hub_addresses(urls: Iterable[object], base: str) -> tuple[str, ...]:
    """At most five WebSub hubs, absolute, each once."""
    found = dict.fromkeys(absolute(url, base) for url in urls)
    return tuple(url for url in found if url)[:MAX_HUBS]
