from collections.abc import Iterable
from typing import Any

from feeds.models import Feed, TrackedItem
from feeds.polling.known_items import previous_order
from feeds.polling.read import Reading
from feeds.rules.corrections import TrackedPost, after_document, after_unchanged
from feeds.rules.facts import Known, PollPlan

TRACKED_COLUMNS = (
    "until",
    "content_hash",
    "item__link_hash",
    "item__published_at",
    "seen_hash",
    "seen_since",
    "missing_since",
    "corrections",
    "news",
)


def news_of(feed: Feed, reading: Reading, plan: PollPlan, known: Known, *, lock: bool) -> list[TrackedPost]:
    rows = TrackedItem.objects.filter(item__feed=feed).order_by("pk")
    if lock:
        rows = rows.select_for_update(of=("self",))
    posts = [TrackedPost(*values) for values in rows.values_list("pk", "item__guid_hash", *TRACKED_COLUMNS)]
    if not posts:
        return []
    if reading.unchanged:
        return after_unchanged(posts, delays=feed, moment=reading.moment)
    document = reading.document
    return after_document(
        posts,
        document,
        previous=previous_order(known.order[len(reading.before) :], [post.id for post in posts]),
        came_back=plan.came_back,
        delays=feed,
        moment=reading.moment,
        partial=reading.partial,
    )


def keep_news(changed: Iterable[TrackedPost], reading: Reading) -> None:
    """The rows must be locked (`news_of` with `lock`)."""
    for post in changed:
        columns: dict[str, Any] = {
            "seen_hash": post.seen_hash,
            "seen_since": post.seen_since,
            "missing_since": post.missing_since,
            "news": post.news,
        }
        if post.seen_since == reading.moment:
            columns["entry"] = reading.kept(post.id)
        TrackedItem.objects.filter(pk=post.pk).update(**columns)
