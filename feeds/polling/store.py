from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F

from common.db.bulk import batched
from feeds.models import Feed, Item, TrackedItem
from feeds.parsing import entry
from feeds.parsing.entry import Entry, ParseError
from feeds.polling.describe import describe, keep_answer, keep_document, keep_order
from feeds.polling.known_items import chunks, leave_before, load, open_items, previous_order, tell_apart
from feeds.polling.read import Reading, ReadingFailed
from feeds.polling.versions import find_rewordings, keep_versions
from feeds.polling.whole import ask_pages, kept_texts
from feeds.rules.corrections import TrackedPost, after_document, after_unchanged
from feeds.rules.facts import Known, PollPlan
from feeds.rules.finality import LEFT_WHILE_HELD
from feeds.rules.pace import behind
from feeds.rules.plan import OLDER, plan_document, plan_unchanged
from feeds.rules.reposts import REPOST

ITEMS_INSERTED_TOGETHER = 500
# Pages per reading, of posts that are only read here.
MOST_ONLY_READ = 20
DROPPED = {
    "state": Item.State.EXCLUDED,
    "content_hash": "",
    **dict.fromkeys(("entry", "final_at", "vanished_at", "rolled_off_at", "held_at", "set_aside_at")),
}
TRACKED_COLUMNS = (
    *("until", "content_hash", "item__link_hash", "item__published_at"),
    *("seen_hash", "seen_since", "missing_since", "corrections", "news"),
)


def prepare(feed: Feed, reading: Reading) -> Known | None:
    """Compare, compress and clean what will probably be written, before the transaction.

    The plan made here is thrown away; the one that counts is made under the locks. Raises ReadingFailed when
    that costs too much.
    """
    if reading.unchanged:
        return None
    try:
        with entry.cpu_limit():
            known = look_up(feed, reading)
            plan = plan_of(feed, reading, known)
            # Readers get excluded posts, too.
            new = (insert for insert in plan.insert if feed.read_by or not insert.excluded)
            written = [insert.id for insert in new if insert.id in reading.entries]
            for id_ in (*written, *plan.rewrite.values(), *plan.restart.values(), *plan.rekey.values()):
                reading.cleaned(id_)
                entry.check_allowance()
            if feed.is_tracked(reading.moment):
                for post in news_of(feed, reading, plan, known, lock=False):
                    if post.seen_since == reading.moment:
                        reading.cleaned(post.id)
                        entry.check_allowance()
            find_rewordings(feed, reading, known)
    except ParseError as error:
        raise ReadingFailed(str(error), fetched=reading.fetched) from error
    if not reading.partial:
        _ = reading.compressed, reading.boilerplate
    return known


def store(feed: Feed, reading: Reading, known: Known | None = None) -> PollPlan:
    """Plan and apply in the caller's transaction, which must have locked the feed's row.

    Changes fields of `feed`, unsaved. Ignores a push before the first reading.
    """
    if reading.unchanged:
        known = Known(open_items(feed, lock=True))
        plan = plan_of(feed, reading, known)
        keep_answer(feed, reading)
        apply(feed, plan, reading)
        if feed.is_tracked(reading.moment):
            keep_news(news_of(feed, reading, plan, known, lock=True), reading)
        return plan
    if reading.partial and feed.first_polled_at is None:
        return PollPlan()
    if known is None:
        tell_apart(feed, reading)
    known = load(feed, reading, known, lock=True)
    if reading.partial:
        reading.common = feed.boilerplate_start, feed.boilerplate_end
    else:
        reading.common = reading.boilerplate
        feed.boilerplate_start, feed.boilerplate_end = reading.common
    plan = plan_of(feed, reading, known)
    apply(feed, plan, reading)
    if feed.is_tracked(reading.moment):
        keep_news(news_of(feed, reading, plan, known, lock=True), reading)
    keep_versions(feed, reading)
    if feed.fetch_whole:
        ask_pages(feed, _with_pages(feed, reading, plan, known), now=reading.moment)
    leave_before(feed, reading)
    feed.held_since = (feed.held_since or reading.moment) if plan.holds else None
    if reading.partial:
        keep_order(feed, reading, plan)
    else:
        keep_document(feed, reading)
        left_out = {*known.older}.union(insert.id for insert in plan.insert if insert.excluded == OLDER)
        describe(feed, reading, plan, left_out=left_out)
    return plan


def look_up(feed: Feed, reading: Reading) -> Known:
    tell_apart(feed, reading)
    return load(feed, reading, lock=False)


def plan_of(feed: Feed, reading: Reading, known: Known) -> PollPlan:
    if reading.unchanged:
        return plan_unchanged(known, feed, moment=reading.moment)
    lag = behind(reading.fetched.headers, reading.moment) if reading.fetched else timedelta(0)
    return plan_document(
        reading.document, known, feed, moment=reading.moment, behind=lag, partial=reading.partial
    )


def settle_last(feed: Feed, moment: datetime) -> int:
    """Finalise stable posts of a feed that is gone: none was withdrawn."""
    stable = F("last_checked") - timedelta(minutes=feed.await_stabilization_minutes)
    rows = Item.objects.settling().filter(feed=feed, stable_since__lte=stable)
    return rows.update(final_at=moment)


def apply(feed: Feed, plan: PollPlan, reading: Reading) -> None:
    moment = reading.moment
    if feed.fetch_whole:
        # Until their pages are read again.
        reading.texts = kept_texts({**plan.rekey, **plan.rewrite, **plan.restart})
    _rekey(feed, plan, reading)
    _insert(feed, plan, reading)
    # Hubs push only changes, so a push says nothing of their frequency.
    streak = {} if reading.partial else {"changes": F("changes") + 1}
    for pk, id_ in plan.rewrite.items():
        Item.objects.filter(pk=pk).update(**_columns(reading, id_), **streak, last_checked=moment)
    for pk, id_ in plan.restart.items():
        Item.objects.filter(pk=pk).update(
            **_columns(reading, id_),
            **({} if pk in plan.flicker else {"first_seen": moment}),
            returns=F("returns") + 1,
            stable_since=moment,
            last_checked=moment,
            final_at=None,
            vanished_at=None,
            rolled_off_at=None,
            changes=0,
        )
    same_for_many: tuple[tuple[Sequence[int], dict[str, Any]], ...] = (
        (plan.unsettle, {"stable_since": moment}),
        (plan.calm, {"changes": 0}),
        (plan.confirm, {"last_checked": moment}),
        (plan.roll_back, {"rolled_off_at": None}),
        (plan.roll_off, {"rolled_off_at": moment}),
        (plan.finalise, {"final_at": moment}),
        (plan.vanish, {"vanished_at": moment, "final_at": None}),
        (plan.set_aside, {"set_aside_at": moment}),
        (plan.take_back, {"set_aside_at": None}),
        (plan.drop, {**DROPPED, "reason": LEFT_WHILE_HELD}),
    )
    for pks, values in same_for_many:
        for chunk in chunks(pks):
            Item.objects.filter(pk__in=chunk).update(**values)
    for chunk in chunks(plan.forget):
        Item.objects.filter(pk__in=chunk, state=Item.State.EXCLUDED, reason=REPOST).delete()


def _rekey(feed: Feed, plan: PollPlan, reading: Reading) -> None:
    """Excluded rows keep the old ids, which never count as new."""
    if not plan.rekey:
        return
    before = list(Item.objects.filter(pk__in=plan.rekey).order_by("pk").defer("entry"))
    for chunk in chunks(list(plan.rekey.values())):
        Item.objects.filter(feed=feed, guid_hash__in=chunk, state="excluded", reason=REPOST).delete()
    for pk, id_ in plan.rekey.items():
        Item.objects.filter(pk=pk).update(
            guid=reading.guids[id_], guid_hash=id_, **_columns(reading, id_), last_checked=reading.moment
        )
    Item.objects.bulk_create(
        Item(
            feed_id=item.feed_id,
            guid=item.guid,
            guid_hash=item.guid_hash,
            title=item.title,
            link=item.link,
            link_hash=item.link_hash,
            published_at=item.published_at,
            state=Item.State.EXCLUDED,
            reason=REPOST,
            first_seen=item.first_seen,
            stable_since=item.stable_since,
            last_checked=reading.moment,
        )
        for item in before
    )


def _insert(feed: Feed, plan: PollPlan, reading: Reading) -> None:
    moment = reading.moment
    for inserts in batched(plan.insert, ITEMS_INSERTED_TOGETHER):
        rows = []
        for insert in inserts:
            columns = _columns(reading, insert.id, excluded=insert.excluded)
            if insert.held:
                columns["reason"] = plan.held_for
            rows.append(
                Item(
                    feed=feed,
                    guid=reading.guids[insert.id],
                    guid_hash=insert.id,
                    first_seen=moment,
                    stable_since=moment,
                    last_checked=moment,
                    final_at=moment if insert.final else None,
                    held_at=moment if insert.held else None,
                    **columns,
                )
            )
        Item.objects.bulk_create(rows)


def _with_pages(feed: Feed, reading: Reading, plan: PollPlan, known: Known) -> list[str]:
    """Return posts that are new or have changed."""
    new = [insert for insert in plan.insert if not insert.held and insert.id in reading.entries]
    ids = [insert.id for insert in new if not insert.excluded]
    ids += [*plan.rekey.values(), *plan.rewrite.values(), *plan.restart.values()]
    if feed.read_by:
        only_read = [insert.id for insert in new if insert.excluded not in ("", REPOST)]
        ids += [*only_read[-MOST_ONLY_READ:], *known.changed[:MOST_ONLY_READ]]
    return ids


def _columns(reading: Reading, id_: str, *, excluded: str = "") -> dict[str, Any]:
    """An excluded row keeps only what identifies it."""
    entry: Entry | None
    if excluded:
        entry = reading.entries.get(id_)
        columns: dict[str, Any] = {"state": Item.State.EXCLUDED, "reason": excluded}
    else:
        entry = reading.cleaned(id_)
        columns = {"content_hash": reading.document.entries[id_].content_hash, "entry": reading.kept(id_)}
    if entry is not None:
        columns |= {
            "title": entry.title,
            "link": entry.link,
            "link_hash": reading.document.entries[id_].link,
            "published_at": entry.published,
        }
    return columns


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
