"""A feed's hub: what to subscribe to, what to do next and when, and whom to believe (W3C WebSub)."""

import hmac
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urljoin, urlsplit

from common.backoff import delay
from common.text import one_line

# "10 days is a good default" (WebSub, 8.2).
USUAL_LEASE = timedelta(days=10)
SHORTEST_LEASE, LONGEST_LEASE = timedelta(minutes=1), timedelta(days=90)
# Renewed when three to four fifths of the lease have passed, so that renewals do not march in step.
RENEWED_AFTER, SPREAD = 0.75, 0.1
VERIFIED_WITHIN = timedelta(hours=1)
FIRST_PAUSE, LONGEST_PAUSE = timedelta(minutes=5), timedelta(hours=24)
DENIED_FOR = timedelta(days=7)
# So long an offer is kept: a document may name another hub or topic at each reading.
OFFER_KEPT_FOR = timedelta(hours=1)
LEAVING_TRIES = 3
SILENT_AFTER = 2
MAX_ADDRESS = 2_000
METHODS = frozenset({"sha1", "sha256", "sha384", "sha512"})
# What a hub may say in which states of a subscription (WebSub, 5.2, 5.3; it may reconfirm an active one).
EXPECTED = {
    "subscribe": frozenset({"pending", "active"}),
    "unsubscribe": frozenset({"leaving"}),
    "denied": frozenset({"pending", "active", "leaving"}),
}
TAKES_PUSHES = frozenset({"pending", "active"})


@dataclass(frozen=True, slots=True)
class Offer:
    """Where a feed's posts are pushed from, and the name by which the hub knows it."""

    hub: str
    topic: str


def offer(links: Sequence[tuple[str, str]], hubs: Sequence[str], topic: str, *, address: str) -> Offer | None:
    """What a document offers: `links` (rel, address) of its Link headers win over what it says itself.

    `address` is where it came from: the base of relative addresses, and the topic when none is named. The
    first hub that speaks https is taken, else the first (WebSub, 8.2). None without a usable one.
    """
    named = [url for rel, url in links if rel == "hub"] or list(hubs)
    topics = [url for rel, url in links if rel == "self"] or [topic or address]
    found = [hub for url in named if (hub := _absolute(url, address))]
    subject = _absolute(topics[0], address)
    if not found or not subject:
        return None
    return Offer(next((hub for hub in found if hub.startswith("https:")), found[0]), subject)


def _absolute(url: str, base: str) -> str:
    """The address as it stands if it is absolute: hubs compare topics letter by letter. "" for a bad one."""
    try:
        joined = url if urlsplit(url).scheme else urljoin(base, url)
        parts = urlsplit(joined)
        good = parts.scheme in ("http", "https") and parts.hostname and not parts.username and parts.port != 0
    except ValueError:
        return ""
    return joined if good and len(joined) <= MAX_ADDRESS and joined == one_line(joined) else ""


def next_act(state: str, tries: int) -> str:
    """What a subscription that is due needs: "subscribe", "unsubscribe" or "forget"."""
    if state != "leaving":
        return "subscribe"
    return "unsubscribe" if tries < LEAVING_TRIES else "forget"


def ask_again_at(now: datetime, tries: int, *, taken: bool, chance: float | None = None) -> datetime:
    """When to ask anew after the `tries`-th request (from 1): a hub that took it has an hour to verify."""
    first = VERIFIED_WITHIN if taken else FIRST_PAUSE
    pause = delay(tries, first=first, limit=LONGEST_PAUSE, chance=chance)
    return now + (max(pause, VERIFIED_WITHIN) if taken else pause)


def may_change(made_at: datetime, now: datetime) -> bool:
    """Whether a subscription is old enough to be given up for another offer of the same feed."""
    return now - made_at >= OFFER_KEPT_FOR


def lease_of(seconds: str) -> timedelta:
    """The lease that a hub grants, bounded; ten days when it does not say."""
    text = seconds.strip()
    if not (text.isascii() and text.isdigit()):
        return USUAL_LEASE
    return min(max(timedelta(seconds=int(text[:9])), SHORTEST_LEASE), LONGEST_LEASE)


def renew_at(now: datetime, lease: timedelta, *, chance: float | None = None) -> datetime:
    """Well before the lease's end; `chance` in [0, 1) replaces the random draw."""
    draw = random.random() if chance is None else chance  # noqa: S311 - not for secrets
    return now + lease * (RENEWED_AFTER + SPREAD * draw)


def is_expected(mode: str, state: str) -> bool:
    """Whether a hub's message fits what we asked for (WebSub, 5.3: "a pending subscription")."""
    return state in EXPECTED.get(mode, ())


def is_signed(header: str, body: bytes, secret: str) -> bool:
    """Whether X-Hub-Signature ("method=hex") is the HMAC of the raw body (WebSub, 7.1). In constant time."""
    method, _, given = header.strip().partition("=")
    if method.lower() not in METHODS or not secret:
        return False
    right = hmac.digest(secret.encode(), body, method.lower()).hex()
    return hmac.compare_digest(right.encode(), given.strip().lower().encode("utf-8", "replace"))


def hub_is_live(state: str, expires_at: datetime | None, missed: int, now: datetime) -> bool:
    """Whether the hub may be trusted to tell what is new: verified, not run out, not caught silent.

    `missed` are the readings since its last push that found new posts. A renewal interrupts nothing.
    """
    return state in TAKES_PUSHES and expires_at is not None and now < expires_at and missed < SILENT_AFTER
