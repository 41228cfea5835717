"""Why was a post not posted?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from chat.models import GuildFeed
from delivery.issues.item_fate import places_of_items
from delivery.models import Delivery
from delivery.rules.posts import CANCELLED, FAILED, SENDING, SENT, SOON, WAITS
from feeds.models import Item

LATEST = 10
NEW, HELD, UNSURE, WITHDRAWN, THERE, RESTS = "new", "held", "unsure", "withdrawn", "there", "rests"

ENDS: Mapping[str, str] = {
    Delivery.State.HELD: UNSURE,
    Delivery.State.FAILED: FAILED,
    Delivery.State.CANCELLED: CANCELLED,
    Delivery.State.SENDING: SENDING,
}


@dataclass(frozen=True, slots=True)
class PostFate:
    """`state` is one of rules.item_fate's, new (not settled), held (needs a decision),
    unsure (perhaps posted), withdrawn (before it had settled), there (when the feed was added),
    rests (until the daily limit ends) or "".

    `words` give the reason; `at` is when it was posted, or will be at the earliest.
    """

    title: str
    link: str
    state: str
    words: str = ""
    at: datetime | None = None


def latest_fates(one: GuildFeed, *, now: datetime) -> list[PostFate]:
    """Newest first."""
    items = Item.objects.filter(feed=one.feed_id).order_by("-first_seen", "-pk")[:LATEST]
    return list(_fates(one, list(items), now))


def _fates(one: GuildFeed, items: list[Item], now: datetime) -> Iterator[PostFate]:
    rows = Delivery.objects.filter(
        issue__subscribable=one.subscribable_id, issue__issue_items__item__in=[item.pk for item in items]
    ).values(
        "issue__issue_items__item",
        "state",
        "held_for",
        "sent_at",
        "due_at",
        "last_error",
        "lane__refused_since",
        "lane__free_at",
        "lane__last_error",
    )
    posted = {row["issue__issue_items__item"]: row for row in rows}
    places = places_of_items([item.pk for item in items], now, only=one.subscribable)
    for item in items:
        title = item.title or item.link
        row = posted.get(item.pk)
        if row is not None:
            fate = PostFate(title, item.link, *_of_delivery(row))
            is_limited = row["held_for"] == Delivery.HeldFor.PAUSE and one.rests_until
            yield replace(fate, state=RESTS, words="", at=one.rests_until) if is_limited else fate
        elif places[item.pk]:
            place = places[item.pk][-1]
            words = "" if place.words == SOON else place.words
            yield PostFate(title, item.link, place.state, words, place.until)
        elif item.held_at is not None:
            yield PostFate(title, item.link, HELD)
        elif item.state == Item.State.UNASSIGNED and item.vanished_at is None:
            yield PostFate(title, item.link, NEW)
        elif item.state == Item.State.UNASSIGNED:
            yield PostFate(title, item.link, WITHDRAWN)
        else:
            # Other reasons may name newsletters of other servers.
            why = item.reason if item.state == Item.State.EXCLUDED else ""
            yield PostFate(title, item.link, "" if item.first_seen > one.added_at else THERE, why)


def _of_delivery(row: Mapping[str, object]) -> tuple[str, str, datetime | None]:
    moments = {name: value for name, value in row.items() if isinstance(value, datetime)}
    said = str(row["last_error"] or "")
    if row["state"] in (Delivery.State.SENT, Delivery.State.STORED):
        return SENT, "", moments.get("sent_at")
    if row["state"] == Delivery.State.HELD and row["held_for"]:
        # For a pause, or until an admin decides after a restore.
        return WAITS, said or str(Delivery.HeldFor(str(row["held_for"])).label), None
    if state := ENDS.get(str(row["state"])):
        return state, said, None
    if row["lane__refused_since"]:
        return WAITS, str(row["lane__last_error"]), moments.get("lane__free_at")
    return WAITS, said, moments.get("due_at")
