"""For apps that send posts: which of them are tracked after they went out, and the news of them."""

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
    """What became of an item, first seen `at`: the text that stands in its feed now, or None: withdrawn."""

    item_id: int
    at: datetime
    entry: Entry | None = None
    content_hash: str = ""


def track(texts: Mapping[int, str], *, until: datetime) -> None:
    """From now on polls look what becomes of these items, in the caller's transaction.

    `texts` are the hashes of what was sent, by the items' keys. An item whose text nobody knows the hash of
    is left out.
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
            # Somebody else was told of another text since: that is news to the one who sent this.
            row.content_hash, row.seen_hash, row.seen_since = content_hash, "", None
            row.news = TrackedItem.News.NONE
        row.until, row.noted = max(row.until, until), False
        row.save()


@transaction.atomic
def note_tracked() -> None:
    """Tells feeds of the posts that are tracked.

    Apart from `track`: whoever publishes holds locks on items, and a poll locks its feed's row before those.
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
    """The news of an item, once, in the caller's transaction: it is lost only with that. None: there are
    none any more."""
    row = TrackedItem.objects.select_for_update(of=("self",)).with_news().filter(pk=item_id).first()
    if row is None:
        return None
    if row.news == WITHDRAWN:
        assert row.missing_since is not None  # noqa: S101 - or it were not withdrawn
        found = ItemNews(item_id, row.missing_since)
        row.delete()
        return found
    assert row.seen_since is not None and row.entry is not None  # noqa: S101, PT018 - it is corrected
    found = ItemNews(item_id, row.seen_since, Entry.from_json(row.entry), row.seen_hash)
    row.content_hash, row.seen_hash, row.seen_since = row.seen_hash, "", None
    row.entry, row.news, row.corrections = None, TrackedItem.News.NONE, row.corrections + 1
    row.save()
    return found


def forget_tracked(now: datetime) -> int:
    """Deletes what is tracked no longer. Returns how many."""
    return TrackedItem.objects.over(now).delete()[0]
