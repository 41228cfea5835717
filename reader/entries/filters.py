"""Channels' filters, run outside of transactions because patterns are slow."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from common.passes import TimeBudget
from reader.entries.visibility import hide, show
from reader.models import Channel, Entry, TimelineEntry
from reader.models.entry import TimelineEntryQuerySet
from reader.rules.filters import Filters, FilterVerdict, judged, looked_at
from reader.rules.order import LARGEST_KEY

ASKED_TOGETHER = 200
LONGEST_TROUBLE = 1_000
ASKED_ABOUT = (TimelineEntry.Hidden.SEEN, TimelineEntry.Hidden.FILTERED)
Stored = dict[str, Any] | None


def verdict(filters: Filters, entry: Entry) -> FilterVerdict:
    """Forgotten posts are never hidden."""
    return judged(filters, entry.kind, looked_at(entry.jf2)) if entry.jf2 else FilterVerdict()


def asked_of_all(entry_id: int) -> dict[int, tuple[Stored, bool]]:
    """Return the feed's channels' filters, and whether they hide the entry."""
    channels = Channel.objects.filter(filters__isnull=False, follows__feed__reader_entries=entry_id)
    rows = list(channels)
    entry = Entry.objects.defer("text").filter(pk=entry_id).first() if rows else None
    if entry is None:
        return {}
    hidden_by = {}
    for channel in rows:
        outcome = verdict(Filters.read(channel.filters), entry)
        note_trouble(channel, outcome.failed)
        hidden_by[channel.pk] = (channel.filters, bool(outcome.field))
    return hidden_by


def note_trouble(channel: Channel, failed: Iterable[str]) -> None:
    if trouble := "\n".join(failed)[:LONGEST_TROUBLE]:
        Channel.objects.filter(pk=channel.pk).exclude(filters_trouble=trouble).update(filters_trouble=trouble)


def ask_again(channels: Iterable[int]) -> None:
    """Judge all posts again later. Call in a transaction."""
    Channel.objects.filter(pk__in=list(channels), filters__isnull=False).update(ask_below=LARGEST_KEY)


def show_what_passes(places: TimelineEntryQuerySet) -> int:
    """Show places that pass the filters. Return how many are shown now.

    All `places` have to be hidden for the same reason. Call in a transaction.
    """
    waiting = places.filter(channel__filters__isnull=False)
    channels = set(waiting.order_by().values_list("channel", flat=True))
    if channels:
        # Lock channels before places, as `_apply` does.
        ask_again(channels)
        waiting.update(hidden=TimelineEntry.Hidden.FILTERED)
    return show(places)


def channels_to_ask() -> "QuerySet[Channel]":
    return Channel.objects.filter(ask_below__isnull=False)


def ask_filters(*, budget: timedelta | None = None) -> int:
    """Judge posts by changed filters."""
    left = TimeBudget(budget)
    done = 0
    while not left.is_spent and (channel := channels_to_ask().order_by("pk").first()):
        done += ask_filters_of(channel, left=left)
    return done


def ask_filters_of(channel: Channel, *, left: TimeBudget) -> int:
    done = 0
    while not left.is_spent:
        now = channels_to_ask().filter(pk=channel.pk).first()
        if now is None or now.ask_below is None:
            break
        # An index has that order.
        rows = TimelineEntry.objects.filter(channel=now, entry__lt=now.ask_below, hidden__in=ASKED_ABOUT)
        places = list(rows.order_by("-entry").select_related("entry").defer("entry__text")[:ASKED_TOGETHER])
        filters = Filters.read(now.filters)
        hidden: list[int] = []
        passing: list[int] = []
        for place in places:
            outcome = verdict(filters, place.entry)
            note_trouble(now, outcome.failed)
            (hidden if outcome.field else passing).append(place.pk)
        done += _apply(now, hidden, passing, places[-1].entry_id if len(places) == ASKED_TOGETHER else None)
    return done


@transaction.atomic
def _apply(channel: Channel, hidden: list[int], passing: list[int], below: int | None) -> int:
    """Return 0 if the filters changed meanwhile."""
    locked = Channel.objects.select_for_update(no_key=True)
    row = locked.filter(pk=channel.pk, ask_below=channel.ask_below).first()
    if row is None or row.filters != channel.filters:
        return 0
    hide(TimelineEntry.objects.filter(pk__in=hidden), TimelineEntry.Hidden.FILTERED)
    show(TimelineEntry.objects.filter(pk__in=passing, hidden=TimelineEntry.Hidden.FILTERED))
    Channel.objects.filter(pk=channel.pk).update(ask_below=below)
    return len(hidden) + len(passing)
