"""How long an answer says it stays fresh (RFC 9111): what a cache may do, we may do, too."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

LONGEST = timedelta(days=365)
_DIRECTIVE = re.compile(r"([a-z-]+)\s*(?:=\s*\"?([^\",]*)\"?)?", re.IGNORECASE)


def fresh_for(headers: Mapping[str, str], now: datetime) -> timedelta:
    """How much longer the answer is fresh; zero where it does not say, or says not at all.

    Header names in lower case. max-age goes before Expires (RFC 9111, 5.3), and Age is taken off.
    """
    said = directives(headers.get("cache-control", ""))
    if "no-cache" in said or "no-store" in said:
        return timedelta(0)
    lifetime = _seconds(said["max-age"]) if "max-age" in said else _expires_in(headers, now)
    age = _seconds(headers.get("age", ""))
    return max(lifetime - age, timedelta(0))


def directives(header: str) -> dict[str, str]:
    """The directives of a Cache-Control, names in lower case; of those given twice, the first."""
    found: dict[str, str] = {}
    for match in _DIRECTIVE.finditer(header[:1000]):
        found.setdefault(match.group(1).lower(), (match.group(2) or "").strip())
    return found


def moment_of(header: str) -> datetime | None:
    """An HTTP date in UTC; None when it is none."""
    try:
        named = parsedate_to_datetime(header.strip()[:100])
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
    try:
        return named.astimezone(UTC) if named.tzinfo else named.replace(tzinfo=UTC)
    except OverflowError:
        return None


def _expires_in(headers: Mapping[str, str], now: datetime) -> timedelta:
    # Measured on the server's own clock where it shows it: clocks differ.
    expires, sent = moment_of(headers.get("expires", "")), moment_of(headers.get("date", ""))
    return min(expires - (sent or now), LONGEST) if expires else timedelta(0)


def _seconds(text: str) -> timedelta:
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit()):
        return timedelta(0)
    return min(timedelta(seconds=int(digits[:9])), LONGEST)
