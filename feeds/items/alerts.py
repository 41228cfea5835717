"""Feeds that admins must be alerted to.

Tracking of sent posts, for the apps that sent them.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus

from django.db import transaction
from django.db.models import F, OuterRef, Q, Subquery

from common.ports.events import Event, EventKind, emit
from common.ports.registries import told_to_others
from feeds.models import Feed, Poll, TrackedItem
from feeds.models.feed import FeedQuerySet
from feeds.models.item import LINGERS
from feeds.parsing.entry import Entry
from feeds.rules.alerts import A_DAY, ALONG, What, due, is_nearly_due
from feeds.rules.corrections import WITHDRAWN


def is_any_wanting(now: datetime) -> bool:
    """Cheap check, run every minute."""
    return _candidates(now).exists()


def wanting(now: datetime) -> dict[What, list[Feed]]:
    """Lock the feeds of each alert. Needs a transaction.

    Feeds that are being recorded are skipped until next time.
    """
    rows = list(_candidates(now).order_by("pk").select_for_update(skip_locked=True, of=("self",)))
    feeds: dict[What, list[Feed]] = {}
    for feed in rows:
        if what := due(feed, now, is_gone=getattr(feed, "last_answer", None) == HTTPStatus.GONE):
            feeds.setdefault(what, []).append(feed)
    if "failing" in feeds:
        # Feeds that fail together get one mail.
        feeds["failing"] = [feed for feed in rows if is_nearly_due(feed, now)]
    return feeds


def mark_alerted(*, feeds: Iterable[Feed], what: What, now: datetime) -> int:
    """Emit the event, too, in the caller's transaction. Returns how many."""
    keys = tuple(sorted(feed.pk for feed in feeds))
    kind = EventKind.RECOVERED if what == "recovered" else EventKind.FAILING
    emit(Event(kind, keys, now, {"gone": what == "gone"} if kind is EventKind.FAILING else {}))
    rows = Feed.objects.filter(pk__in=keys)
    if what == "recovered":
        return rows.filter(alerted_at__isnull=False, failures=0).update(alerted_at=None)
    if what == "gone":
        return rows.filter(status=Feed.Status.STOPPED).update(alerted_at=now)
    return rows.filter(alerted_at=None, failures__gt=0).update(alerted_at=now)


def how_many_fail() -> tuple[int, int]:
    """Return failing and watched feeds."""
    watched = Feed.objects.watched()
    return watched.filter(failures__gt=0).count(), watched.count()


def _candidates(now: datetime) -> FeedQuerySet:
    """Return a superset of the feeds that are due."""
    failing = Q(status="active", failures__gt=0, failing_since__lte=now - (A_DAY - ALONG), alerted_at=None)
    stopped = Q(status="stopped", failures__gt=0, dropping=False)
    untold = Q(alerted_at=None) | Q(alerted_at__lt=F("last_polled_at"))
    recovered = Q(status="active", failures=0, fetched_through__gt=F("alerted_at"))
    # Feeds are also stopped by hand, so the last answer counts.
    last = Poll.objects.filter(feed=OuterRef("pk")).order_by("-at", "-pk").values("status")[:1]
    rows = Feed.objects.annotate(last_answer=Subquery(last))
    rows = rows.filter(failing | (stopped & untold & Q(last_answer=HTTPStatus.GONE)) | recovered)
    for theirs in told_to_others:
        rows = rows.exclude(pk__in=theirs())
    return rows


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
