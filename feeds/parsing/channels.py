"""Facts that a document states about itself, bounded and checked."""

import re
from collections.abc import Iterable

from feeds.parsing.media import absolute

MAX_HUBS = 5
MAX_TTL = 31 * 24 * 60
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def ttl(text: object) -> int | None:
    """Return minutes, at most 31 days, or None."""
    written = str(text or "").strip()
    minutes = int(written) if re.fullmatch(r"[0-9]{1,9}", written) else 0
    return min(minutes, MAX_TTL) or None


def hours(texts: Iterable[object]) -> tuple[int, ...]:
    """Return hours 0 to 23, sorted. RSS 0.91 writes midnight as 24."""
    written = [str(text).strip() for text in texts]
    found = {int(text) % 24 for text in written if re.fullmatch(r"[0-9]{1,2}", text) and int(text) <= 24}
    return tuple(sorted(found))


def days(texts: Iterable[object]) -> tuple[int, ...]:
    """Return 0 (Monday) to 6 for English names, sorted."""
    names = {str(text).strip().lower() for text in texts}
    return tuple(number for number, name in enumerate(DAYS) if name in names)


def hub_addresses(urls: Iterable[object], base: str) -> tuple[str, ...]:
    found = dict.fromkeys(absolute(url, base) for url in urls)
    return tuple(url for url in found if url)[:MAX_HUBS]
