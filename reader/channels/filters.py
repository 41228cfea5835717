"""Changing what a channel hides by itself, and looking first at what that would do."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction

from common.passes import TimeBudget
from common.refused import Refused
from reader.entries.filters import ASKED_ABOUT, ask_filters_of, verdict
from reader.entries.place import place_in_turn
from reader.models import Channel, TimelineEntry
from reader.rules.filters import Filters, FilterVerdict, checked_filters
from reader.rules.order import LARGEST_KEY

TRIED_ON = 30


@dataclass(frozen=True, slots=True)
class Previewed:
    """One of the newest posts of a channel, and what filters would do to it."""

    place: TimelineEntry
    verdict: FilterVerdict


def change_filters(
    *,
    channel: Channel,
    kinds: Iterable[str] = (),
    hide: Iterable[str] = (),
    keep: Iterable[str] = (),
    at_once: timedelta | None = timedelta(0),
) -> Channel:
    """Hides in a channel what fits, what stands there and what will come; without any, shows all again.

    What is not asked about `at_once` (None: all is) is left to `ask_filters`. Raises InvalidFilter, and
    Refused for the notifications.
    """
    if channel.is_notifications:
        raise Refused("The notifications have no filters. Mute whom you do not want to see.", "channel")
    filters = checked_filters(kinds=kinds, hide=hide, keep=keep)
    with transaction.atomic():
        # What is being placed by the filters before is there when these are asked.
        place_in_turn()
        channel = Channel.objects.select_for_update(no_key=True).get(pk=channel.pk)
        if filters.stored != channel.filters:
            channel.filters, channel.filters_trouble = filters.stored, ""
            channel.ask_below = LARGEST_KEY
            channel.save(update_fields=["filters", "filters_trouble", "ask_below"])
    ask_filters_of(channel, left=TimeBudget(at_once))
    return channel


def preview_filters(channel: Channel, filters: Filters) -> list[Previewed]:
    """The newest posts of a channel, also those that are filtered now, and what these filters would say."""
    places = TimelineEntry.objects.filter(channel=channel, hidden__in=ASKED_ABOUT).select_related(
        "entry", "feed"
    )
    rows = places.select_related("channel").defer("entry__text").order_by("-at", "-pk")[:TRIED_ON]
    return [Previewed(row, verdict(filters, row.entry)) for row in rows]
