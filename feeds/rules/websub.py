"""Subscriptions at hubs: what to ask for, when, and whom to believe (W3C WebSub)."""

import hmac
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urljoin, urlsplit

from common.backoff import delay
from common.text import one_line

# "10 days is a good default" (WebSub §8.2).
USUAL_LEASE = timedelta(days=10)
SHORTEST_LEASE, LONGEST_LEASE = timedelta(minutes=1), timedelta(days=90)
# Renew after three to four fifths of the lease, spread at random.
RENEWED_AFTER, SPREAD = 0.75, 0.1
VERIFIED_WITHIN = timedelta(hours=1)
FIRST_PAUSE, LONGEST_PAUSE = timedelta(minutes=5), timedelta(hours=24)
DENIED_FOR = timedelta(days=7)
# A document may name another hub or topic at each reading.
OFFER_KEPT_FOR = timedelta(hours=1)
LEAVING_TRIES = 3
SILENT_AFTER = 2
MAX_ADDRESS = 2_000
METHODS = frozenset({"sha1", "sha256", "sha384", "sha512"})
# A hub that did not hear our answer verifies again.
REPEATED_WITHIN = timedelta(minutes=10)
# Messages that a hub may send by state (WebSub §5.2, §5.3). A renewal is pending, too.
EXPECTED = {
    "subscribe": frozenset({"pending"}),
    "unsubscribe": frozenset({"leaving"}),
    "denied": frozenset({"pending", "active", "leaving"}),
}
TAKES_PUSHES = frozenset({"pending", "active"})


@dataclass(frozen=True, slots=True)
class Offer:
    """A hub, and the topic by which it knows the feed."""

    hub: str
    topic: str


def offer(links: Sequence[tuple[str, str]], hubs: Sequence[str], topic: str, *, address: str) -> Offer | None:
    """Return the document's offer, or None. `links` (rel, address) of Link headers precede its content.

    `address` is the base of relative addresses, and the topic if none is named. The first https hub is used,
    else the first (WebSub §8.2).
    """
    named = [url for rel, url in links if rel == "hub"] or list(hubs)
    topics = [url for rel, url in links if rel == "self"] or [topic or address]
    found = [hub for url in named if (hub := _absolute(url, address))]
    subject = _absolute(topics[0], address)
    if not found or not subject:
        return None
    return Offer(next((hub for hub in found if hub.startswith("https:")), found[0]), subject)


def _absolute(url: str, base: str) -> str:
    """Return absolute addresses unchanged, as hubs compare topics literally. "" if invalid."""
    try:
        joined = url if urlsplit(url).scheme else urljoin(base, url)
        parts = urlsplit(joined)
        good = parts.scheme in ("http", "https") and parts.hostname and not parts.username and parts.port != 0
    except ValueError:
        return ""
    return joined if good and len(joined) <= MAX_ADDRESS and joined == one_line(joined) else ""


def next_act(state: str, tries: int) -> str:
    """Return "subscribe", "unsubscribe" or "forget" for a due subscription."""
    if state != "leaving":
        return "subscribe"
    return "unsubscribe" if tries < LEAVING_TRIES else "forget"


def ask_again_at(now: datetime, tries: int, *, taken: bool, chance: float | None = None) -> datetime:
    """Return when to repeat the request. A hub that accepted it has an hour to verify."""
    first = VERIFIED_WITHIN if taken else FIRST_PAUSE
    pause = delay(tries, first=first, limit=LONGEST_PAUSE, chance=chance)
    return now + (max(pause, VERIFIED_WITHIN) if taken else pause)


def may_change(made_at: datetime, now: datetime) -> bool:
    """Return whether a subscription is old enough to be replaced by another offer."""
    return now - made_at >= OFFER_KEPT_FOR


def lease_of(seconds: str) -> timedelta:
    """Return the granted lease, bounded; ten days by default."""
    text = seconds.strip()
    if not (text.isascii() and text.isdigit()):
        return USUAL_LEASE
    return min(max(timedelta(seconds=int(text[:9])), SHORTEST_LEASE), LONGEST_LEASE)


def renew_at(now: datetime, lease: timedelta, *, chance: float | None = None) -> datetime:
    """Return a time well before the lease ends. `chance` in [0, 1) replaces the random draw."""
    draw = random.random() if chance is None else chance  # noqa: S311 - not for secrets
    return now + lease * (RENEWED_AFTER + SPREAD * draw)


def is_expected(mode: str, state: str) -> bool:
    """Return whether a hub's message matches our request (WebSub §5.3)."""
    return state in EXPECTED.get(mode, ())


def is_repeated(
    mode: str, state: str, *, expires_at: datetime | None, lease: timedelta, now: datetime
) -> bool:
    """Return whether a hub verifies once more what we have just confirmed: its lease ends hardly later."""
    if mode != "subscribe" or state != "active" or expires_at is None:
        return False
    return now + lease <= expires_at + REPEATED_WITHIN


def is_signed(header: str, body: bytes, secret: str) -> bool:
    """Verify X-Hub-Signature ("method=hex") over the raw body (WebSub §7.1), in constant time."""
    method, _, given = header.strip().partition("=")
    if method.lower() not in METHODS or not secret:
        return False
    right = hmac.digest(secret.encode(), body, method.lower()).hex()
    return hmac.compare_digest(right.encode(), given.strip().lower().encode("utf-8", "replace"))


def hub_is_live(state: str, expires_at: datetime | None, missed: int, now: datetime) -> bool:
    """Return whether the hub can be trusted to push: verified, not expired, not silent.

    `missed`: readings since its last push that found new posts.
    """
    return state in TAKES_PUSHES and expires_at is not None and now < expires_at and missed < SILENT_AFTER
