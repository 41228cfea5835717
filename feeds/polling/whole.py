"""Reads the pages of new posts of feeds that have excerpts. Posts wait for it, polls don't."""

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from common.clock import utcnow
from common.net.client import SafeClient, client
from common.passes import TimeBudget
from common.ports.registries import page_takers
from feeds.addresses import host_of_url, is_address
from feeds.models import Feed, Host, Item, ItemPage
from feeds.polling.known_items import chunks
from feeds.polling.page_text import NoPage, whole_text
from feeds.rules.whole import EXCERPT, MOST_READINGS, excerpt_of, next_try, with_text

log = logging.getLogger(__name__)

GAP = timedelta(seconds=10)
LOOKED_AT = 1_000
# Then a post that changes is tried again.
REFUSED_FOR = timedelta(days=1)
TOO_LATE = "Its page couldn’t be read in time."
UNFORESEEN = "Reading its page failed in an unforeseen way ({})."


def ask_pages(feed: Feed, ids: Sequence[str], *, now: datetime) -> None:
    """Have the pages of these posts read. The feed must be locked."""
    for chunk in chunks(ids if feed.fetch_whole else ()):
        rows = Item.objects.filter(feed=feed, guid_hash__in=chunk).order_by("pk").values_list("pk", "link")
        pks = [pk for pk, link in rows if is_address(link)]
        again = ItemPage.objects.filter(item__in=pks, due_at=None, readings__lt=MOST_READINGS)
        again = again.filter(Q(note="") | Q(asked_at__lte=now - REFUSED_FOR))
        again.update(asked_at=now, due_at=now, tries=0)
        new = [ItemPage(item_id=pk, asked_at=now, due_at=now) for pk in pks]
        ItemPage.objects.bulk_create(new, ignore_conflicts=True)


def kept_texts(ids: Mapping[int, str]) -> dict[str, str]:
    """Return the texts that items have from their pages. `ids`: the items' keys → any keys."""
    rows = (row for chunk in chunks(list(ids)) for row in Item.objects.filter(pk__in=chunk))
    return {ids[row.pk]: row.entry["content"] for row in rows if row.entry and EXCERPT in row.entry}


def has_text(item_id: int | None) -> bool:
    return ItemPage.objects.filter(item=item_id, readings__gt=0).exists()


def due_pages(now: datetime) -> "QuerySet[ItemPage]":
    return ItemPage.objects.filter(due_at__lte=now)


def read_pages(
    *, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None, http: SafeClient | None = None
) -> int:
    """Read due pages, one of each host. Returns how many."""
    left, done = TimeBudget(budget), 0
    wanted = Item.objects.filter(pk=OuterRef("pk"), feed__fetch_whole=True)
    due_pages(clock()).filter(~Exists(wanted)).update(due_at=None)
    busy = set(Host.objects.filter(page_free_at__gt=clock()).values_list("name", flat=True))
    rows = due_pages(clock()).select_related("item__feed").order_by("due_at", "pk")[:LOOKED_AT]
    for row in list(rows):
        host = host_of_url(row.item.link)
        if left.is_spent:
            break
        if host not in busy and claim_host(host, clock()):
            busy.add(host)
            done += _read(row, clock, http or client())
    return done


def claim_host(name: str, now: datetime) -> bool:
    Host.objects.bulk_create([Host(name=name)], ignore_conflicts=True)
    rested = Q(page_free_at=None) | Q(page_free_at__lte=now)
    return bool(Host.objects.filter(rested, name=name).update(page_free_at=now + GAP))


def _read(row: ItemPage, clock: Callable[[], datetime], http: SafeClient) -> bool:
    item, now = row.item, clock()
    is_late = next_try(row.tries, asked_at=row.asked_at, now=now) is None
    later = next_try(row.tries + 1, asked_at=row.asked_at, now=now)
    # Not if it is asked for anew meanwhile.
    mine = ItemPage.objects.filter(pk=row.pk, asked_at=row.asked_at, tries=row.tries)
    # Before the try, so that a page that ends the process is given up, too.
    if not mine.update(tries=row.tries + 1, due_at=later or now + GAP):
        return False
    text, note = "", row.note or TOO_LATE
    try:
        if not is_late:
            text = whole_text(item.link, title=item.title, excerpt=excerpt_of(item.entry or {}), http=http)
            note, later = "", None
    except NoPage as error:
        note, later = str(error), later if error.passes else None
    except Exception as error:
        log.exception("reading the page of a post failed", extra={"item": item.pk})
        note, later = UNFORESEEN.format(type(error).__name__), None
    mine = ItemPage.objects.filter(pk=row.pk, asked_at=row.asked_at, tries=row.tries + 1)
    with transaction.atomic():
        # Feed before items, as in polls.
        Feed.objects.select_for_update().filter(pk=item.feed_id).first()
        locked = Item.objects.select_for_update(of=("self",)).filter(pk=item.pk).first()
        if mine.update(due_at=later, note=note, readings=F("readings") + int(bool(text))) and locked and text:
            if locked.entry:
                Item.objects.filter(pk=item.pk).update(entry=with_text(locked.entry, text))
            _tell(item, text)
    return not is_late


def _tell(item: Item, text: str) -> None:
    try:
        with transaction.atomic():
            for take in page_takers:
                take(item.pk, text)
    except Exception:
        log.exception("readers could not get the whole post", extra={"item": item.pk})
