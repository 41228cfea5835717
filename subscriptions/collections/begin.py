"""Lets a new newsletter begin with posts that its feeds had before."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from feeds.items.held import present_entries
from feeds.models import Item
from feeds.parsing.entry import Entry
from feeds.parsing.identity import content_hash
from feeds.polling.read import digest
from subscriptions.collections.assign import collections_for, lock_for_membership
from subscriptions.models import Assignment, Subscribable
from subscriptions.rules.edits import CannotEdit

MOST_POSTS = 50
# No other newsletter waits for these.
DONE = (Item.State.CLEARED, Item.State.EXCLUDED)
ALREADY_BEGUN = "It has begun: posts are in its next issue, or an issue was made."


def latest(subscribable: Subscribable, count: int) -> list[tuple[int, Entry]]:
    """Return the newest posts as (item, entry), the newest first, if nothing else will send them to it."""
    found = []
    for feed in subscribable.feeds.all():
        entries = {digest(entry.guid): entry for entry in present_entries(feed, MOST_POSTS)}
        done = Item.objects.filter(feed=feed, guid_hash__in=entries, state__in=DONE)
        found += [(pk, entries[key]) for pk, key in done.values_list("pk", "guid_hash")]
    found.sort(key=lambda pair: pair[1].published.timestamp() if pair[1].published else 0, reverse=True)
    return found[:count]


def can_begin(subscribable: Subscribable) -> bool:
    return not subscribable.assignables.exists() and not subscribable.last_completed_wti


def begin_with(*, subscribable: Subscribable, count: int, now: datetime) -> int:
    """Put the newest `count` posts into its next issue, or each into one. Returns how many.

    Other newsletters are not affected. Raises CannotEdit.
    """
    posts: Sequence[tuple[int, Entry]] = latest(subscribable, min(count, MOST_POSTS))
    added = 0
    with transaction.atomic():
        (newsletter,) = lock_for_membership(Subscribable.objects.filter(pk=subscribable.pk))
        if not can_begin(newsletter):
            raise CannotEdit(ALREADY_BEGUN)
        rows = Item.objects.select_for_update().filter(state__in=DONE).in_bulk([pk for pk, _ in posts])
        for pk, entry in reversed(posts):
            item = rows.get(pk)
            if item is None:
                continue
            item.state, item.reason, item.final_at = Item.State.ASSIGNED, "", now
            item.entry, item.content_hash = entry.to_json(), content_hash(entry)
            item.title, item.published_at = entry.title, entry.published
            item.save()
            collection = collections_for([newsletter], item, now)[newsletter.pk]
            Assignment.objects.create(assignable=collection, item=item, assigned_at=now)
            added += 1
    return added
