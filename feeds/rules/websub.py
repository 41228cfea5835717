import hmac
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urljoin, urlsplit

from common.backoff import delay
from common.text import one_line

# WebSub §8.2.
USUAL_LEASE = timedelta(days=10)
SHORTEST_LEASE, LONGEST_LEASE = timedelta(minutes=1), timedelta(days=90)
# Shares of the lease.
RENEWED_AFTER, SPREAD = 0.75, 0.1
VERIFIED_WITHIN = timedelta(hours=1)
FIRST_PAUSE, LONGEST_PAUSE = timedelta(minutes=5), timedelta(hours=24)
DENIED_FOR = timedelta(days=7)
# Documents may name another hub at each reading.
OFFER_KEPT_FOR = timedelta(hours=1)
LEAVING_TRIES = 3
SILENT_AFTER = 2
MAX_ADDRESS = 2_000
METHODS = frozenset({"sha1", "sha256", "sha384", "sha512"})
# If it missed our answer, the hub verifies again.
REPEATED_WITHIN = timedelta(minutes=10)
# WebSub §5.2, §5.3. A renewal is pending, too.
EXPECTED = {
    "subscribe": frozenset({"pending"}),
    "unsubscribe": frozenset({"leaving"}),
    "denied": frozenset({"pending", "active", "leaving"}),
}
TAKES_PUSHES = frozenset({"pending", "active"})


@dataclass(frozen=True, slots=True)
class Offer:
    hub: str
    topic: str


def offer(links: Sequence[tuple[str, str]], hubs: Sequence[str], topic: str, *, address: str) -> Offer | None:
    """Prefer `links` (rel, address) of headers.

    `address` is the default topic. https is preferred (WebSub §8.2).
    """
    named = [url for rel, url in links if rel == "hub"] or list(hubs)
    topics = [url for rel, url in links if rel == "self"] or [topic or address]
    addresses = [hub for url in named if (hub := _absolute(url, address))]
    subject = _absolute(topics[0], address)
    if not addresses or not subject:
        return None
    return Offer(next((hub for hub in addresses if hub.startswith("https:")), addresses[0]), subject)


def _absolute(url: str, base: str) -> str:
    """Hubs compare topics literally, so absolute ones stay unchanged."""
    try:
        joined = url if urlsplit(url).scheme else urljoin(base, url)
        parts = urlsplit(joined)
        good = parts.scheme in ("http", "https") and parts.hostname and not parts.username and parts.port != 0
    except ValueError:
        return ""
    return joined if good and len(joined) <= MAX_ADDRESS and joined == one_line(joined) else ""


def next_act(state: str, tries: int) -> str:
    if state != "leaving":
        return "subscribe"
    return "unsubscribe" if tries < LEAVING_TRIES else "forget"


def ask_again_at(now: datetime, tries: int, *, taken: bool, chance: float | None = None) -> datetime:
    """A hub that accepted the request has an hour to verify."""
    first = VERIFIED_WITHIN if taken else FIRST_PAUSE
    pause = delay(tries, first=first, limit=LONGEST_PAUSE, chance=chance)
    return now + (max(pause, VERIFIED_WITHIN) if taken else pause)


def may_change(made_at: datetime, now: datetime) -> bool:
    return now - made_at >= OFFER_KEPT_FOR


def lease_of(seconds: str) -> timedelta:
    text = seconds.strip()
    if not (text.isascii() and text.isdigit()):
        return USUAL_LEASE
    return min(max(timedelta(seconds=int(text[:9])), SHORTEST_LEASE), LONGEST_LEASE)


def renew_at(now: datetime, lease: timedelta, *, chance: float | None = None) -> datetime:
    """`chance` in [0, 1) replaces the random draw."""
    draw = random.random() if chance is None else chance  # noqa: S311 - not for secrets
    return now + lease * (RENEWED_AFTER + SPREAD * draw)


def is_expected(mode: str, state: str) -> bool:
    """WebSub §5.3."""
    return state in EXPECTED.get(mode, ())


def is_repeated(
    mode: str, state: str, *, expires_at: datetime | None, lease: timedelta, now: datetime
) -> bool:
    if mode != "subscribe" or state != "active" or expires_at is None:
        return False
    return now + lease <= expires_at + REPEATED_WITHIN


def is_signed(header: str, body: bytes, secret: str) -> bool:
    """Verify X-Hub-Signature over the raw body (WebSub §7.1)."""
    method, _, given = header.strip().partition("=")
    if method.lower() not in METHODS or not secret:
        return False
    right = hmac.digest(secret.encode(), body, method.lower()).hex()
    return hmac.compare_digest(right.encode(), given.strip().lower().encode("utf-8", "replace"))


def hub_is_live(state: str, expires_at: datetime | None, missed: int, now: datetime) -> bool:
    """`missed`: readings since its last push that found new posts."""
    return state in TAKES_PUSHES and expires_at is not None and now < expires_at and missed < SILENT_AFTER
