"""Whether the page of a post has its whole text, and when it is read."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from urllib.robotparser import RobotFileParser

# As robots.txt names us.
AGENT = "Feedletter"
MOST_TRIES = 3
# Of a post that changes again and again.
MOST_READINGS = 5
GIVEN_UP_AFTER = timedelta(hours=6)
PAUSES = (timedelta(minutes=5), timedelta(hours=1))
# Shorter texts are a notice.
SHORTEST = 200
LOG_IN = "The page asks for a log-in."
PAID = "The page says that its text has to be paid for."
SHORT = "The page has no longer text than the feed."
NO_PAGE = "The link leads to no web page."
_LOG_IN = re.compile(r"/(?:log|sign)[-_]?in\b|/(?:sso|oauth2?|register|sign[-_]?up)(?:/|\Z)|/wp-login", re.I)
# https://schema.org/isAccessibleForFree, which search engines ask paid sites for.
_PAID = re.compile(r'"isAccessibleForFree"\s{0,99}:\s{0,99}"?(?:https?://schema\.org/)?false', re.I)
# In `Item.entry`: the feed's content, which the page's text replaced.
EXCERPT = "excerpt"
_HTML = ("text/html", "application/xhtml+xml")


def next_try(tries: int, *, asked_at: datetime, now: datetime) -> datetime | None:
    """Return None to give up."""
    if tries >= MOST_TRIES or now - asked_at >= GIVEN_UP_AFTER:
        return None
    return now + PAUSES[min(max(tries, 1), len(PAUSES)) - 1]


def may_fetch(robots: str, url: str) -> bool:
    """Apply a robots.txt (RFC 9309)."""
    rules = RobotFileParser()
    rules.parse(robots.splitlines())
    return rules.can_fetch(AGENT, url)


def passes(status: int) -> bool:
    return status in (408, 425, 429) or status >= 500


def refusal(*, url: str, was_redirected: bool, kind: str, html: str) -> str:
    """Return why the text of an answered page must not be used, or ""."""
    if kind.partition(";")[0].strip().lower() not in _HTML:
        return NO_PAGE
    if was_redirected and _LOG_IN.search(urlsplit(url).path):
        return LOG_IN
    return PAID if _PAID.search(html) else ""


def is_whole(text: str, excerpt: str) -> bool:
    return len(text) > max(len(excerpt), SHORTEST)


def with_text(entry: Mapping[str, Any], text: str) -> dict[str, Any]:
    """`entry` is an item's, from the feed or with an earlier text."""
    return {**entry, "content": text, EXCERPT: entry.get(EXCERPT, entry["content"])}


def excerpt_of(entry: Mapping[str, Any]) -> str:
    return str(entry.get(EXCERPT, entry.get("content")) or entry.get("summary") or "")
