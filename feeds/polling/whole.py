"""Reads the pages of new posts of feeds that have excerpts. Posts wait for it, polls don't."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet

from common.clock import utcnow
from common.net.client import SafeClient, client
from common.passes import TimeBudget
from common.ports.registries import page_takers
from feeds.addresses import host_of_url, is_address
from feeds.models import Feed, Host, Item, ItemPage
from feeds.polling.known_items import chunks
from feeds.polling.page_text import NoPage, whole_text
from feeds.rules.whole import MOST_READINGS, next_try

log = logging.getLogger(__name__)

GAP = timedelta(seconds=10)
LOOKED_AT = 1_000
# Then a post that changes is tried again.
REFUSED_FOR = timedelta(days=1)
# In `Item.entry`: the feed's content, which the page's text replaced.
EXCERPT = "excerpt"
UNFORESEEN = "Reading the page failed in an unforeseen way ({})."


def ask_pages(feed: Feed, ids: Sequence[str], *, now: datetime) -> None:
    """Have the pages of these posts read. The feed must be locked."""
    if not feed.fetch_whole:
        return
    for chunk in chunks(ids):
        rows = Item.objects.filter(feed=feed, guid_hash__in=chunk).order_by("pk").values_list("pk", "link")
        pks = [pk for pk, link in rows if is_address(link)]
        again = ItemPage.objects.filter(item__in=pks, due_at=None, readings__lt=MOST_READINGS)
        again = again.filter(Q(note="") | Q(asked_at__lte=now - REFUSED_FOR))
        again.update(asked_at=now, due_at=now, tries=0)
        ItemPage.objects.bulk_create(
            [ItemPage(item_id=pk, asked_at=now, due_at=now) for pk in pks], ignore_conflicts=True
        )


def kept_texts(pks: Iterable[int]) -> dict[int, str]:
    """Return the texts that came from pages."""
    rows = [row for chunk in chunks(list(pks)) for row in Item.objects.filter(pk__in=chunk)]
    return {row.pk: row.entry["content"] for row in rows if row.entry and EXCERPT in row.entry}


def with_text(entry: Mapping[str, Any], text: str) -> dict[str, Any]:
    """`entry` is the feed's, or has an earlier text."""
    if not text:
        return dict(entry)
    return {**entry, "content": text, EXCERPT: entry.get(EXCERPT, entry["content"])}


def due_pages(now: datetime) -> "QuerySet[ItemPage]":
    return ItemPage.objects.filter(due_at__lte=now)


def read_pages(
    *, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None, http: SafeClient | None = None
) -> int:
    """Read due pages, one of each host. Returns how many were asked for."""
    left, done = TimeBudget(budget), 0
    rows = list(due_pages(clock()).order_by("due_at", "pk")[:LOOKED_AT])
    items = {
        item.pk: item
        for chunk in chunks([row.pk for row in rows])
        for item in Item.objects.filter(pk__in=chunk).select_related("feed")
    }
    busy = set(Host.objects.filter(page_free_at__gt=clock()).values_list("name", flat=True))
    for row in rows:
        if left.is_spent:
            break
        item = items.get(row.pk)
        if item is None or not item.feed.fetch_whole:
            ItemPage.objects.filter(pk=row.pk).update(due_at=None)
            continue
        host = host_of_url(item.link)
        if host in busy or not claim_host(host, clock()):
            continue
        busy.add(host)
        done += _claim(row, clock()) and _read(row, item, clock, http or client())
    return done


def claim_host(name: str, now: datetime) -> bool:
    Host.objects.bulk_create([Host(name=name)], ignore_conflicts=True)
    rested = Q(page_free_at=None) | Q(page_free_at__lte=now)
    return bool(Host.objects.filter(rested, name=name).update(page_free_at=now + GAP))


def _claim(row: ItemPage, now: datetime) -> bool:
    """Count the try first, so that a page that ends the process is given up, too."""
    row.tries += 1
    later = next_try(row.tries, asked_at=row.asked_at, now=now) or now + GAP
    mine = due_pages(now).filter(pk=row.pk, asked_at=row.asked_at, tries=row.tries - 1)
    return bool(mine.update(tries=row.tries, due_at=later))


def _read(row: ItemPage, item: Item, clock: Callable[[], datetime], http: SafeClient) -> bool:
    text, note, again = "", "", False
    if next_try(row.tries - 1, asked_at=row.asked_at, now=clock()) is None:
        note = row.note or "It couldn’t be read in time."
    else:
        entry = item.entry or {}
        excerpt = entry.get(EXCERPT, entry.get("content")) or entry.get("summary") or ""
        try:
            text = whole_text(item.link, title=item.title, excerpt=excerpt, http=http)
        except NoPage as error:
            note, again = str(error), error.passes
        except Exception as error:
            log.exception("reading the page of a post failed", extra={"item": item.pk})
            note = UNFORESEEN.format(type(error).__name__)
    later = next_try(row.tries, asked_at=row.asked_at, now=clock()) if again else None
    with transaction.atomic():
        # Feed before items, as in polls.
        Feed.objects.select_for_update().filter(pk=item.feed_id).first()
        locked = Item.objects.select_for_update(of=("self",)).filter(pk=item.pk).first()
        # Not if it was asked for anew meanwhile.
        mine = ItemPage.objects.filter(pk=row.pk, asked_at=row.asked_at)
        count = {"readings": F("readings") + 1} if text else {}
        if locked is None or not mine.update(due_at=later, note=note, **count):
            return True
        if text and locked.entry:
            Item.objects.filter(pk=item.pk).update(entry=with_text(locked.entry, text))
        if text:
            _tell(item, text)
    return True


def _tell(item: Item, text: str) -> None:
    try:
        with transaction.atomic():
            for take in page_takers:
                take(item.pk, text)
    except Exception:
        log.exception("readers could not get the whole post", extra={"item": item.pk})
