"""Assigns final items to collections, in one transaction each; earlier posts to new newsletters.

Deletes feeds and newsletters, unless something depends on them. A feed with readers here loses only
its letters.
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from common.backoff import delay
from common.clock import utcnow
from common.passes import TimeBudget
from common.ports.events import Event, EventKind, emit
from common.ports.hooks import HookError
from common.refused import Refused
from common.text import pluralize, without_controls
from feeds.items.held import note_decided, present_entries
from feeds.models import Feed, Item
from feeds.models.feed import FeedQuerySet
from feeds.models.item import ItemQuerySet
from feeds.parsing.entry import Entry
from feeds.parsing.identity import content_hash
from feeds.parsing.likeness import copy_hash
from feeds.polling.read import digest
from feeds.polling.store import DROPPED
from feeds.rules.reposts import LETTERS_ENDED, REPOST
from subscriptions.collections.post_rules import left_out_words, note_left_out, verdicts
from subscriptions.models import Assignable, Assignment, FailedAssignment, SeenLink, Subscribable
from subscriptions.models.subscribable import SubscribableQuerySet
from subscriptions.rules.collections import OpenCollection, Slot, period_slot, within_type_id_for
from subscriptions.rules.edits import CannotEdit

log = logging.getLogger(__name__)

MOST_POSTS = 50
# No other newsletter waits for these.
DONE = (Item.State.CLEARED, Item.State.EXCLUDED)
ALREADY_BEGUN = "It has begun: posts are in its next issue, or an issue was made."
EXCLUDED_BY_HAND = "by hand"
# A new feed's newsletter may be defined later.
WAITS_FOR_A_NEWSLETTER = timedelta(days=30)
FIRST_BACKOFF = timedelta(minutes=1)
LONGEST_BACKOFF = timedelta(hours=1)
MAX_TEXT = 2000
STILL_READ = "People read it here, so it isn’t deleted."


def skip_duplicates(item: Item, takers: Sequence[Subscribable]) -> dict[int, Item]:
    """Record the item for these newsletters. Return earlier copies by newsletter.

    Runs in the caller's transaction with the newsletters locked. Ignores newsletters with one feed.
    """
    if not item.link_hash:
        return {}
    feeds = Subscribable.feeds.through.objects.filter(subscribable__in=takers)
    counts = Counter(feeds.values_list("subscribable_id", flat=True))
    several = sorted(pk for pk, count in counts.items() if count > 1)
    if not several or not _is_alone(item):
        return {}
    keys = [key for key in (item.link_hash, copy_hash(item.link)) if key]
    rows = SeenLink.objects.filter(subscribable__in=several, link_hash__in=keys)
    rows = rows.select_related("item__feed").defer("item__entry").order_by("pk")
    there, had = set[tuple[int, str]](), dict[int, Item]()
    title = item.title.casefold().split()
    for row in rows:
        there.add((row.subscribable_id, row.link_hash))
        if row.subscribable_id in had or row.item.feed_id == item.feed_id:
            continue
        if row.link_hash == item.link_hash:
            is_copy = _is_alone(row.item)
        else:
            is_copy = bool(title) and title == row.item.title.casefold().split()
        if is_copy:
            had[row.subscribable_id] = row.item
    SeenLink.objects.bulk_create(
        [
            SeenLink(subscribable_id=pk, link_hash=key, item=had.get(pk, item))
            for pk in several
            for key in keys
            if (pk, key) not in there
        ],
        ignore_conflicts=True,
    )
    return had


def words_for(takers: Sequence[Subscribable], had: Mapping[int, Item]) -> str:
    return " ".join(
        f"It is not in “{taker}”, which has had this post from the feed “{had[taker.pk].feed}”."
        for taker in takers
        if taker.pk in had
    )


def _is_alone(item: Item) -> bool:
    """Return whether no other post of its feed, except reposts, has the link."""
    same = Item.objects.filter(feed=item.feed_id, link_hash=item.link_hash).exclude(pk=item.pk)
    return not same.exclude(state=Item.State.EXCLUDED, reason=REPOST).exists()


def assign_final(
    *, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None, ignore_back_off: bool = False
) -> int:
    """Assign final items, oldest first, within the budget. Failed ones are retried later."""
    assigned = 0
    left = TimeBudget(budget)
    stuck = dict(FailedAssignment.objects.values_list("item_id", "next_try_at"))
    for pk in list(takable(clock()).order_by("final_at", "pk").values_list("pk", flat=True)):
        if left.is_spent:
            break
        now = clock()
        if pk in stuck and stuck[pk] > now and not ignore_back_off:
            continue
        try:
            is_assigned = assign_item(item_id=pk, now=now)
        except Exception as error:
            log.exception("assigning failed", extra={"item": pk})
            _note_stuck(pk, error, now)
            continue
        assigned += is_assigned
        if pk in stuck:
            FailedAssignment.objects.filter(item=pk).delete()
    return assigned


@transaction.atomic
def _note_stuck(item_id: int, error: Exception, now: datetime) -> None:
    if not Item.objects.filter(pk=item_id).exists():
        return
    row, _ = FailedAssignment.objects.select_for_update().get_or_create(item_id=item_id)
    row.failures += 1
    row.next_try_at = now + delay(row.failures, first=FIRST_BACKOFF, limit=LONGEST_BACKOFF)
    named = str(error) if isinstance(error, HookError) else f"{type(error).__name__}: {error}"
    row.last_error = without_controls(named)[:MAX_TEXT]
    row.save()


def takable(now: datetime) -> ItemQuerySet:
    readers = Subscribable.feeds.through.objects.filter(feed_id=OuterRef("feed_id"))
    return Item.objects.final().filter(Exists(readers) | Q(final_at__lt=now - WAITS_FOR_A_NEWSLETTER))


def assign_item(*, item_id: int, now: datetime) -> bool:
    """Return False if it was assigned, has changed, or waits for a newsletter.

    Raises HookError: the newsletter may yet want the post.
    """
    item = Item.objects.select_related("feed").defer("entry").filter(pk=item_id).first()
    if item is None:
        return False
    seen, opinions = item, verdicts(item, now=now)
    with transaction.atomic():
        takers = lock_for_membership(Subscribable.objects.filter(feeds=seen.feed_id, stopped=False))
        item = takable(now).select_for_update(of=("self",)).filter(pk=seen.pk).first()
        # The verdicts are about this content.
        if item is None or item.final_at is None or item.content_hash != seen.content_hash:
            return False
        refusing = [taker for taker in takers if taker.pk in opinions and not opinions[taker.pk].is_kept]
        wanting = [taker for taker in takers if taker not in refusing]
        # A refused post does not exclude copies in other feeds.
        had = skip_duplicates(item, wanting)
        # Left out by an editor before it was final: it joins, so that it can be put back.
        left_out = dict(item.left_out.filter(by_hand=True).values_list("subscribable_id", "at"))
        collections = collections_for([taker for taker in wanting if taker.pk not in had], item, now)
        rows = [
            Assignment(assignable=collection, item=item, assigned_at=now, left_out_at=left_out.get(pk))
            for pk, collection in collections.items()
        ]
        Assignment.objects.bulk_create(rows)
        for taker in refusing:
            note_left_out(taker, {item.pk: opinions[taker.pk].reason}, now=now)
        # In no collection, so nothing else would clear it.
        state = Item.State.ASSIGNED if rows else Item.State.CLEARED
        changes = {"state": state} if rows else {"state": state, "entry": None, "content_hash": ""}
        refusals = (left_out_words(taker, opinions[taker.pk].reason) for taker in refusing)
        reason = " ".join(filter(None, (words_for(wanting, had), *refusals)))
        why = {"reason": reason} if reason else {}
        if any(row.left_out_at is None for row in rows):
            emit(Event(EventKind.POST, (item.pk,), now))
        return bool(Item.objects.final().filter(pk=item.pk).update(**changes, **why))


def lock_for_membership(subscribables: SubscribableQuerySet) -> list[Subscribable]:
    """Lock newsletters in pk order, before any change of a collection's items.

    NO KEY: sign-ups hold KEY SHARE on these rows and should not wait.
    """
    return list(subscribables.select_for_update(no_key=True, of=("self",)).order_by("pk"))


def collections_for(
    subscribables: Sequence[Subscribable], item: Item, now: datetime
) -> dict[int, Assignable]:
    """Return the item's collections by newsletter, opened if necessary. The newsletters are locked."""
    numbers = [numbered(each.counter + ahead) for each in subscribables for ahead in (0, 1)]
    wanted = Q(period_end__isnull=False) | Q(within_type_id__in=[_single(item), *numbers])
    there: dict[int, dict[str, Assignable]] = defaultdict(dict)
    for row in Assignable.objects.filter(wanted, subscribable__in=subscribables).order_by():
        there[row.subscribable_id][row.within_type_id] = row
    slots = {each.pk: _slot(each, item, now, there[each.pk]) for each in subscribables}
    new = [
        Assignable(
            subscribable=each,
            within_type_id=slot.within_type_id,
            opened_at=now,
            next_try_at=now,
            period_start=slot.start,
            period_end=slot.end,
            capacity=each.n,
        )
        for each in subscribables
        if (slot := slots[each.pk]).within_type_id not in there[each.pk]
    ]
    for row in Assignable.objects.bulk_create(new):
        there[row.subscribable_id][row.within_type_id] = row
    return {pk: there[pk][slot.within_type_id] for pk, slot in slots.items()}


def _slot(subscribable: Subscribable, item: Item, now: datetime, there: Mapping[str, Assignable]) -> Slot:
    """Every n: the open collection, or the next number if that is full or sealed."""
    if subscribable.arrangement == Subscribable.Arrangement.EACH:
        return Slot(_single(item))
    if subscribable.arrangement == Subscribable.Arrangement.EVERY_N:
        current = there.get(numbered(subscribable.counter))
        if current is not None:
            full = current.assignments.kept().count() >= (current.capacity or 1)
            if full or current.seal_token is not None:
                subscribable.counter += 1
                subscribable.save(update_fields=["counter"])
        return Slot(numbered(subscribable.counter))
    assert item.final_at is not None  # noqa: S101 - only final items are assigned
    return period_slot(
        final_at=item.final_at,
        now=now,
        schedule=subscribable.schedule,
        zone=subscribable.zone,
        issued_through=subscribable.issued_through,
        collections=[
            OpenCollection(row.within_type_id, row.period_end, sealed=row.seal_token is not None)
            for row in there.values()
            if row.period_end is not None
        ],
    )


def _single(item: Item) -> str:
    return within_type_id_for("each", item_id=item.pk)


def numbered(counter: int) -> str:
    return within_type_id_for("every_n", counter=counter)


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


def exclude(*, item_id: int, reason: str) -> bool:
    """Return False if it is too late."""
    with transaction.atomic():
        # Newsletters that hold the item or may be about to take it.
        takers = Subscribable.objects.filter(feeds__items=item_id).values("pk")
        holders = Assignable.objects.filter(items=item_id).values("subscribable")
        lock_for_membership(Subscribable.objects.filter(Q(pk__in=takers) | Q(pk__in=holders)))
        there = Item.objects.filter(pk=item_id, state__in=("unassigned", "assigned"))
        item = there.select_for_update().first()
        held = Assignment.objects.filter(item=item_id)
        if item is None or held.filter(assignable__seal_token__isnull=False).exists():
            return False
        collections = list(held.values_list("assignable_id", flat=True))
        # These newsletters may get a copy from another feed. Others sent it, and keep the record.
        SeenLink.objects.filter(item=item, subscribable__assignables__in=collections).delete()
        held.delete()
        # An empty collection would become an empty issue.
        Assignable.objects.filter(pk__in=collections, assignments=None, seal_token=None).delete()
        Item.objects.filter(pk=item.pk, state=item.state).update(reason=reason, **DROPPED)
    if item.held_at is not None:
        # A separate transaction: a feed is locked before its items, never after.
        note_decided(feed_id=item.feed_id)
    return True


class DropRefused(Refused):
    """The message says what depends on it, and how to force it."""


@transaction.atomic
def drop_feed(*, feed: Feed, force: bool, now: datetime) -> str:
    """Delete a feed, or only end its letters if it has readers.

    With pending posts it raises DropRefused, or if forced waits until they are sent.
    """
    lock_for_membership(Subscribable.objects.filter(feeds=feed))
    feed = Feed.objects.select_for_update().get(pk=feed.pk)
    waiting = on_the_way(feed)
    if waiting and not force:
        are = "is" if waiting == 1 else "are"
        sentence = f"{pluralize(waiting, 'post')} of {feed} {are} still to be sent."
        raise DropRefused(
            f"{sentence} Force it to let them go out first.",
            by_api=f"{sentence} With ?force=true they go out first.",
        )
    if waiting and feed.read_by:
        Feed.objects.filter(pk=feed.pk).update(for_letters=False, dropping=True)
        return f"{feed} is no longer sent once its last {pluralize(waiting, 'post')} went out. {STILL_READ}"
    if waiting:
        Feed.objects.filter(pk=feed.pk).update(status=Feed.Status.STOPPED, dropping=True)
        return f"{feed} is no longer read; it is deleted once its last {pluralize(waiting, 'post')} went out."
    return _drop_now(feed)


def _drop_now(feed: Feed) -> str:
    """Call it with the newsletters and the feed locked."""
    if not feed.read_by:
        feed.delete()
        return f"{feed} was deleted."
    feed.subscribables.clear()
    Item.objects.filter(feed=feed, state=Item.State.UNASSIGNED).update(**DROPPED, reason=LETTERS_ENDED)
    Feed.objects.filter(pk=feed.pk).update(for_letters=False, dropping=False, held_since=None)
    return f"{feed} is no longer sent. {STILL_READ}"


def on_the_way(feed: Feed) -> int:
    """Count assigned and final posts."""
    assigned = feed.items.filter(state=Item.State.ASSIGNED)
    return assigned.count() + Item.objects.final().filter(feed=feed).count()


@transaction.atomic
def drop_subscribable(*, subscribable: Subscribable, force: bool, now: datetime) -> str:
    """Delete a newsletter, with `force` also one with subscribers."""
    lock_for_membership(Subscribable.objects.filter(pk=subscribable.pk))
    count = subscribable.subscriptions.exclude(status="unsubscribed").count()
    readers = pluralize(count, "subscriber")
    if count and not force:
        raise DropRefused(
            f"{subscribable} has {readers}. Force it to delete it with them.",
            by_api=f"{subscribable} has {readers}. With ?force=true it is deleted with them.",
        )
    items = list(Item.objects.filter(assignables__subscribable=subscribable).values_list("pk", flat=True))
    subscribable.assignables.all().delete()
    clear_unneeded(item_ids=items)
    title = str(subscribable)
    subscribable.delete()
    return f"{title} was deleted, with {readers}." if count else f"{title} was deleted."


def clear_unneeded(*, item_ids: list[int]) -> None:
    """Clear items without open collections, locked by pk, in the caller's transaction."""
    assigned = Item.objects.filter(pk__in=item_ids, state=Item.State.ASSIGNED)
    pks = [item.pk for item in assigned.order_by("pk").select_for_update().only("pk")]
    # A new statement sees other commits made while we waited for the locks.
    needed = Exists(Assignment.objects.filter(item=OuterRef("pk")))
    done = Item.objects.filter(~needed, pk__in=pks, state=Item.State.ASSIGNED)
    done.update(state=Item.State.CLEARED, entry=None, content_hash="", set_aside_at=None)


def dropping_feeds() -> FeedQuerySet:
    return Feed.objects.filter(dropping=True)


def delete_dropped_feeds() -> int:
    """Delete feeds that waited for their last posts."""
    deleted = 0
    for pk in list(dropping_feeds().values_list("pk", flat=True)):
        with transaction.atomic():
            # Prevents an assignment between check and deletion.
            lock_for_membership(Subscribable.objects.filter(feeds=pk))
            feed = Feed.objects.select_for_update().filter(pk=pk, dropping=True).first()
            if feed is not None and not on_the_way(feed):
                _drop_now(feed)
                deleted += 1
    return deleted
