from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime

from django.db import transaction
from django.db.models import Case, Value, When
from django.db.models.functions import Coalesce

from feeds.models import Feed, FeedDocument, Item
from feeds.models.item import ItemQuerySet
from feeds.parsing.entry import Entry
from feeds.parsing.identity import content_hash, link_hash
from feeds.polling.known_items import chunks, kept_feed
from feeds.polling.read import clean_entry
from feeds.polling.store import DROPPED
from feeds.polling.whole import ask_pages
from feeds.rules.finality import FLOOD, NOT_AFTER_MOVE, NOT_AFTER_RESTORE, RESTORED, SENT_ELSEWHERE

# A poll reads fewer, and excludes others.
POSTS_SEARCHED = 5_000


def include_item(*, item_id: int, now: datetime) -> str:
    """Make an excluded item new, from the last document. Returns a sentence for the user."""
    item = Item.objects.get(pk=item_id)
    if item.state != Item.State.EXCLUDED:
        return f"“{item}” is not excluded."
    document = FeedDocument.objects.filter(feed=item.feed_id).first()
    entry = kept_entry(item, document) if document else None
    if document is None or entry is None:
        return f"“{item}” is no longer in the feed, so it can’t be sent."
    hash_ = content_hash(entry)
    with transaction.atomic():
        # Feed before items, as in polls.
        feed = Feed.objects.select_for_update().get(pk=item.feed_id)
        if not FeedDocument.objects.filter(feed=item.feed_id, sha256=document.sha256).exists():
            return f"The feed of “{item}” was read just now. Try again."
        cleaned = _entry_of(feed, entry, document.headers.get("url", ""))
        item = Item.objects.select_for_update().get(pk=item.pk)
        if item.state != Item.State.EXCLUDED:
            return f"“{item}” is not excluded."
        item.state, item.reason = Item.State.UNASSIGNED, ""
        item.first_seen = item.stable_since = item.last_checked = now
        item.final_at = item.vanished_at = item.rolled_off_at = item.held_at = None
        item.set_aside_at = None
        item.changes, item.link_hash = 0, link_hash(cleaned.link)
        item.content_hash, item.entry = hash_, cleaned.to_json()
        item.title, item.link, item.published_at = cleaned.title, cleaned.link, cleaned.published
        item.save()
        ask_pages(feed, [item.guid_hash], now=now)
    return f"“{item}” will be sent once settled."


def kept_entry(item: Item, document: FeedDocument) -> Entry | None:
    """Return the item's entry in the last document, uncleaned."""
    parsed = kept_feed(document, limit=POSTS_SEARCHED)
    return next((entry for entry in parsed.entries if entry.guid == item.guid), None) if parsed else None


def present_entries(feed: Feed, count: int) -> list[Entry]:
    """Return the first posts of the last document, cleaned."""
    document = FeedDocument.objects.filter(feed=feed).first()
    if document is None:
        return []
    parsed = kept_feed(document)
    url = document.headers.get("url", feed.url)
    return [_entry_of(feed, entry, url) for entry in parsed.entries[:count]] if parsed else []


def _entry_of(feed: Feed, entry: Entry, url: str) -> Entry:
    return replace(clean_entry(entry, url), boilerplate=(feed.boilerplate_start, feed.boilerplate_end))


def release(
    *, now: datetime, feed_ids: Iterable[int] | None = None, item_ids: Iterable[int] | None = None
) -> int:
    """Release held items of these feeds, or these items. Returns how many.

    If a whole flood is released, the feed's next ones are not held.
    """
    return _decide(_held(feed_ids, item_ids), {"held_at": None, "reason": ""}, now=now)


def exclude_held(
    *, now: datetime, feed_ids: Iterable[int] | None = None, item_ids: Iterable[int] | None = None
) -> int:
    """Return how many."""
    why = Case(
        When(reason=RESTORED, then=Value(NOT_AFTER_RESTORE)),
        When(reason=SENT_ELSEWHERE, then=Value(NOT_AFTER_MOVE)),
        default=Value(FLOOD),
    )
    return _decide(_held(feed_ids, item_ids), {**DROPPED, "reason": why}, now=now)


@transaction.atomic
def note_decided(*, feed_id: int) -> None:
    """Clear `held_since` of a feed without held items."""
    feed = Feed.objects.select_for_update().filter(pk=feed_id, held_since__isnull=False).first()
    if feed is not None:
        _note(feed)


def _held(feed_ids: Iterable[int] | None, item_ids: Iterable[int] | None) -> dict[int, list[int]]:
    """Return them by feed, unlocked and ordered."""
    items: dict[int, list[int]] = {}
    for column, keys in (("feed__in", feed_ids), ("pk__in", item_ids)):
        for chunk in chunks(sorted(set(keys or ()))):
            rows = Item.objects.held().filter(**{column: chunk}).order_by("feed_id", "pk")
            for feed_id, pk in rows.values_list("feed_id", "pk"):
                items.setdefault(feed_id, []).append(pk)
    return items


def _decide(items: dict[int, list[int]], changes: dict[str, object], *, now: datetime) -> int:
    done = 0
    is_sent = "state" not in changes
    for feed_id in sorted(items):
        with transaction.atomic():
            # Feed before items, as in polls.
            feed = Feed.objects.select_for_update().filter(pk=feed_id).first()
            if feed is None:
                continue
            floods = set[datetime]()
            for chunk in chunks(items[feed_id]):
                held: ItemQuerySet = Item.objects.held().filter(pk__in=chunk)
                columns = ("pk", "reason", "first_seen", "guid_hash")
                locked = list(held.order_by("pk").select_for_update().values_list(*columns))
                floods.update(first_seen for _, reason, first_seen, _ in locked if not reason)
                done += Item.objects.held().filter(pk__in=[pk for pk, *_ in locked]).update(**changes)
                if is_sent:
                    ask_pages(feed, [id_ for *_, id_ in locked], now=now)
            _note(feed)
            if floods:
                _remember_answer(feed, floods, now if is_sent else None)
    return done


def _note(feed: Feed) -> None:
    if not Item.objects.held().filter(feed=feed).exists():
        Feed.objects.filter(pk=feed.pk).update(held_since=None)


def _remember_answer(feed: Feed, floods: Collection[datetime], sent_at: datetime | None) -> None:
    """`floods`: when their posts were first seen.

    After a part of a flood was sent, the next one is held again.
    """
    left_out = Item.objects.filter(feed=feed, state=Item.State.EXCLUDED, reason=FLOOD, first_seen__in=floods)
    if sent_at and (left_out.exists() or Item.objects.held().filter(feed=feed, reason="").exists()):
        return
    Feed.objects.filter(pk=feed.pk).update(floods_sent_at=sent_at)


def hold_all(*, now: datetime) -> int:
    """Hold all waiting posts, and what each feed's next full reading brings. Returns how many."""
    held = 0
    for pks in chunks(list(Feed.objects.order_by("pk").values_list("pk", flat=True))):
        with transaction.atomic():
            # Feeds before items, as in polls.
            list(Feed.objects.select_for_update().filter(pk__in=pks).order_by("pk").values_list("pk"))
            Feed.objects.filter(pk__in=pks).update(hold_next=True)
            waiting = Item.objects.filter(feed__in=pks, state=Item.State.UNASSIGNED, held_at=None)
            held += waiting.update(held_at=now, reason=RESTORED, final_at=None)
            with_held = Item.objects.held().filter(feed__in=pks).order_by().values("feed")
            Feed.objects.filter(pk__in=with_held).update(held_since=Coalesce("held_since", Value(now)))
    return held
