"""The port to people who read posts here: they are told of a reading within the transaction that stores it.

Letters come first. Whatever an audience raises is undone for the audience alone, and made up for later from
the document that is kept.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

from django.db import transaction

from common.passes import TimeBudget
from feeds.models import Feed, FeedDocument, Item
from feeds.polling.known_items import chunks, kept_feed
from feeds.polling.read import Reading
from feeds.polling.store import PollCounts
from feeds.rules.reposts import REPOST

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Told:
    """A reading that was stored. `first`: nothing of the feed was told before.

    `inserted` are the items that are new (the digest of the guid → key), `withdrawn` the keys of those that
    were taken back before they had settled. Any post of the reading may have changed.
    """

    moment: datetime
    first: bool
    partial: bool
    inserted: Mapping[str, int]
    withdrawn: tuple[int, ...]
    reading: Reading


class Audience(Protocol):
    def take(self, feed: Feed, told: Told) -> None:
        """Keeps what it needs of the reading. The feed's row is locked; no item may be changed."""


_audiences: list[Audience] = []


def join_audience(audience: Audience) -> None:
    """From now on it is told of feeds that somebody follows (`read_by`). Called in AppConfig.ready()."""
    _audiences.append(audience)


def tell_audience(feed: Feed, reading: Reading, moment: datetime, counts: PollCounts) -> None:
    """Tells of a reading that was just stored, in the same transaction. Raises nothing of an audience's.

    Notes on the feed's row, unsaved, whether the audience is behind. Called before `first_polled_at` is set.
    """
    if reading.unchanged:
        return
    since = feed.audience_behind_since or moment
    told = _told(feed, reading, since, moment, counts if since == moment else None)
    try:
        with transaction.atomic():
            for audience in _audiences:
                audience.take(feed, told)
    except Exception:
        log.exception("those who read a feed could not be told; it is tried again", extra={"feed": feed.pk})
        feed.audience_behind_since = since
    else:
        feed.audience_behind_since = None


def repair_audience(*, now: datetime, budget: timedelta | None = None) -> int:
    """Tells again of feeds whose audience is behind, from their kept documents. Returns how many it could."""
    left = TimeBudget(budget)
    done = 0
    for pk in list(Feed.objects.filter(audience_behind_since__isnull=False).values_list("pk", flat=True)):
        if left.is_spent:
            break
        try:
            done += _repaired(pk, now)
        except Exception:
            log.exception("those who read a feed could not be told yet", extra={"feed": pk})
    return done


def kept_reading(feed_id: int) -> Reading | None:
    """The feed's last whole document as a reading. None when there is none, or a push was newer.

    It takes as long as parsing does, so it is asked before the feed's row is locked; `is_still_kept` tells
    afterwards whether it was in vain.
    """
    document = FeedDocument.objects.filter(feed=feed_id).first()
    parsed = kept_feed(document) if document and document.sha256 else None
    if document is None or parsed is None:
        return None
    headers = document.headers
    return Reading(b"", document.sha256, headers, headers.get("url", ""), parsed, parsed.channel)


def is_still_kept(feed: Feed, reading: Reading) -> bool:
    """Whether the reading is the feed's last document; asked under the lock of the feed's row."""
    return FeedDocument.objects.filter(feed=feed, sha256=reading.sha256).exists()


def told_of_all(feed: Feed, reading: Reading, moment: datetime) -> Told:
    """As if everything in the kept reading were new: for whoever begins to follow a feed that is watched."""
    return replace(_told(feed, reading, None, moment), first=True, withdrawn=())


def _repaired(pk: int, now: datetime) -> bool:
    reading = kept_reading(pk)
    with transaction.atomic():
        feed = Feed.objects.select_for_update().filter(pk=pk, audience_behind_since__isnull=False).first()
        if feed is None:
            return False
        if feed.read_by and (reading is None or not is_still_kept(feed, reading)):
            # The next reading makes up for it.
            return False
        if feed.read_by and reading is not None:
            told = _told(feed, reading, feed.audience_behind_since, feed.fetched_through or now)
            for audience in _audiences:
                audience.take(feed, told)
        Feed.objects.filter(pk=pk).update(audience_behind_since=None)
    return True


def _told(
    feed: Feed, reading: Reading, since: datetime | None, moment: datetime, counts: PollCounts | None = None
) -> Told:
    """What is new in the reading since then; None: everything that it holds.

    `counts`: of this reading alone. What they have none of is not asked for, which most polls are spared.
    """
    inserted: dict[str, int] = {}
    has_new = counts is None or counts.new or counts.excluded
    for chunk in chunks(list(reading.entries) if has_new else []):
        rows = Item.objects.filter(feed=feed, guid_hash__in=chunk).exclude(reason=REPOST).order_by()
        if since is not None:
            rows = rows.filter(first_seen__gte=since)
        inserted.update(rows.values_list("guid_hash", "pk"))
    withdrawn = Item.objects.filter(feed=feed, state=Item.State.UNASSIGNED, vanished_at__gte=since or moment)
    has_withdrawn = counts is None or counts.vanished
    first_at = feed.first_polled_at
    return Told(
        moment,
        first=first_at is None or (since is not None and first_at == since),
        partial=reading.partial,
        inserted=inserted,
        withdrawn=tuple(withdrawn.order_by("pk").values_list("pk", flat=True)) if has_withdrawn else (),
        reading=reading,
    )
