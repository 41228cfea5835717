"""Tracking of sent posts, for the apps that sent them."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Q

from feeds.models import Feed, TrackedItem
from feeds.models.item import LINGERS
from feeds.parsing.entry import Entry
from feeds.rules.corrections import WITHDRAWN


@dataclass(frozen=True, slots=True)
class ItemNews:
    """An item's new text, first seen `at`, or None if it was withdrawn."""

    item_id: int
    at: datetime
    entry: Entry | None = None
    content_hash: str = ""


def track(texts: Mapping[int, str], *, until: datetime) -> None:
    """Track in the caller's transaction. `texts`: keys and content hashes of what was sent.

    Items with an empty hash are skipped.
    """
    for pk, content_hash in sorted(texts.items()):
        if not content_hash:
            continue
        first = {"until": until, "content_hash": content_hash}
        row, is_new = TrackedItem.objects.get_or_create(item_id=pk, defaults=first)
        if is_new:
            continue
        row = TrackedItem.objects.select_for_update().get(pk=pk)
        if row.content_hash != content_hash:
            # Others know another text by now, so the difference is news again.
            row.content_hash, row.seen_hash, row.seen_since = content_hash, "", None
            row.news = TrackedItem.News.NONE
        row.until, row.noted = max(row.until, until), False
        row.save()


@transaction.atomic
def note_tracked() -> None:
    """Set `Feed.tracked_until`.

    Not in `track`: publishing locks items, and polls lock feeds before items.
    """
    rows = TrackedItem.objects.unnoted().values_list("pk", "until", "item__feed_id")
    feeds: dict[int, datetime] = {}
    noted: dict[datetime, list[int]] = defaultdict(list)
    for pk, until, feed in rows:
        feeds[feed] = max(until + LINGERS, feeds.get(feed, until))
        noted[until].append(pk)
    for feed, end in sorted(feeds.items()):
        shorter = Q(tracked_until=None) | Q(tracked_until__lt=end)
        Feed.objects.filter(shorter, pk=feed).update(tracked_until=end)
    for until, pks in noted.items():
        TrackedItem.objects.filter(pk__in=pks, until=until).update(noted=True)


def take_news(item_id: int) -> ItemNews | None:
    """Remove the news, too, in the caller's transaction."""
    row = TrackedItem.objects.select_for_update(of=("self",)).with_news().filter(pk=item_id).first()
    if row is None:
        return None
    if row.news == WITHDRAWN:
        assert row.missing_since is not None  # noqa: S101 - or it were not withdrawn
        news = ItemNews(item_id, row.missing_since)
        row.delete()
        return news
    assert row.seen_since is not None and row.entry is not None  # noqa: S101, PT018 - it is corrected
    news = ItemNews(item_id, row.seen_since, Entry.from_json(row.entry), row.seen_hash)
    row.content_hash, row.seen_hash, row.seen_since = row.seen_hash, "", None
    row.entry, row.news, row.corrections = None, TrackedItem.News.NONE, row.corrections + 1
    row.save()
    return news
