"""People who read posts here.

An audience's error is rolled back alone, and made up for later from the kept document.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db import transaction

from common.passes import TimeBudget
from common.ports.registries import audiences
from feeds.models import Feed, FeedDocument, Item
from feeds.polling.known_items import chunks, kept_feed
from feeds.polling.read import Reading
from feeds.rules.facts import PollPlan
from feeds.rules.reposts import REPOST

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Told:
    """A stored reading. `first`: the audience has seen nothing of the feed before.

    `inserted`: guid digest → key of new items. `withdrawn`: keys of items withdrawn before they settled. Any
    post may have changed.
    """

    moment: datetime
    first: bool
    partial: bool
    inserted: Mapping[str, int]
    withdrawn: tuple[int, ...]
    reading: Reading


def tell_audience(feed: Feed, reading: Reading, plan: PollPlan) -> None:
    """Call the audiences in the transaction that stored the reading. Raises nothing.

    Sets `audience_behind_since`, unsaved. Call it before `first_polled_at` is set.
    """
    if reading.unchanged:
        return
    since = feed.audience_behind_since or reading.moment
    told = _told(feed, reading, since, reading.moment, plan if since == reading.moment else None)
    try:
        with transaction.atomic():
            for take in audiences:
                take(feed, told)
    except Exception:
        log.exception("readers of a feed could not be notified; it is tried again", extra={"feed": feed.pk})
        feed.audience_behind_since = since
    else:
        feed.audience_behind_since = None


def repair_audience(*, now: datetime, budget: timedelta | None = None) -> int:
    """Call audiences that are behind, with kept documents. Returns how many succeeded."""
    left = TimeBudget(budget)
    done = 0
    for pk in list(Feed.objects.filter(audience_behind_since__isnull=False).values_list("pk", flat=True)):
        if left.is_spent:
            break
        try:
            done += _repaired(pk, now)
        except Exception:
            log.exception("readers of a feed could not be notified yet", extra={"feed": pk})
    return done


def kept_reading(feed_id: int) -> Reading | None:
    """Return the last full document, or None if there is none or a push was newer.

    Parsing is slow: call this before locking the feed's row, `is_still_kept` after.
    """
    document = FeedDocument.objects.filter(feed=feed_id).first()
    parsed = kept_feed(document) if document and document.sha256 else None
    if document is None or parsed is None:
        return None
    headers = document.headers
    url = headers.get("url", "")
    return Reading(b"", document.sha256, headers, url, document.fetched_at, parsed, parsed.channel)


def is_still_kept(feed: Feed, reading: Reading) -> bool:
    return FeedDocument.objects.filter(feed=feed, sha256=reading.sha256).exists()


def told_of_all(feed: Feed, reading: Reading, moment: datetime) -> Told:
    """Treat the whole reading as new, for the first follower of a watched feed."""
    return replace(_told(feed, reading, None, moment), first=True, withdrawn=())


def _repaired(pk: int, now: datetime) -> bool:
    reading = kept_reading(pk)
    with transaction.atomic():
        feed = Feed.objects.select_for_update().filter(pk=pk, audience_behind_since__isnull=False).first()
        if feed is None:
            return False
        if feed.read_by and (reading is None or not is_still_kept(feed, reading)):
            return False
        if feed.read_by and reading is not None:
            told = _told(feed, reading, feed.audience_behind_since, feed.fetched_through or now)
            for take in audiences:
                take(feed, told)
        Feed.objects.filter(pk=pk).update(audience_behind_since=None)
    return True


def _told(
    feed: Feed, reading: Reading, since: datetime | None, moment: datetime, plan: PollPlan | None = None
) -> Told:
    """Collect what is new since `since`. `plan` (of this reading) saves queries."""
    inserted: dict[str, int] = {}
    has_new = plan is None or plan.insert or plan.restart or plan.drop
    for chunk in chunks(list(reading.entries) if has_new else []):
        rows = Item.objects.filter(feed=feed, guid_hash__in=chunk).exclude(reason=REPOST).order_by()
        if since is not None:
            rows = rows.filter(first_seen__gte=since)
        inserted.update(rows.values_list("guid_hash", "pk"))
    withdrawn = Item.objects.filter(feed=feed, state=Item.State.UNASSIGNED, vanished_at__gte=since or moment)
    has_withdrawn = plan is None or plan.vanish
    first_at = feed.first_polled_at
    return Told(
        moment,
        first=first_at is None or (since is not None and first_at == since),
        partial=reading.partial,
        inserted=inserted,
        withdrawn=tuple(withdrawn.order_by("pk").values_list("pk", flat=True)) if has_withdrawn else (),
        reading=reading,
    )
