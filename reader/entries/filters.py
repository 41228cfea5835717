"""A channel's filters at work: on posts that come in, and, after a change, on all that stand there.

They are asked outside of transactions, because patterns take time.
"""

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
# What `Channel.filters` hold.
Stored = dict[str, Any] | None


def verdict(filters: Filters, entry: Entry) -> FilterVerdict:
    """Whether the filters hide a post. One that was forgotten is hidden by nothing."""
    return judged(filters, entry.kind, looked_at(entry.jf2)) if entry.jf2 else FilterVerdict()


def asked_of_all(entry_id: int) -> dict[int, tuple[Stored, bool]]:
    """Of the channels that follow the entry's feed and have filters: these, and whether they hide it."""
    channels = Channel.objects.filter(filters__isnull=False, follows__feed__reader_entries=entry_id)
    rows = list(channels)
    entry = Entry.objects.defer("text").filter(pk=entry_id).first() if rows else None
    if entry is None:
        return {}
    found = {}
    for channel in rows:
        said = verdict(Filters.read(channel.filters), entry)
        note_trouble(channel, said.failed)
        found[channel.pk] = (channel.filters, bool(said.field))
    return found


def note_trouble(channel: Channel, failed: Iterable[str]) -> None:
    """Keeps which terms could not judge a post, for the reader to see."""
    if said := "\n".join(failed)[:LONGEST_TROUBLE]:
        Channel.objects.filter(pk=channel.pk).exclude(filters_trouble=said).update(filters_trouble=said)


def ask_again(channels: Iterable[int]) -> None:
    """Their filters will be asked of all that stands there, in the caller's transaction."""
    Channel.objects.filter(pk__in=list(channels), filters__isnull=False).update(ask_below=LARGEST_KEY)


def show_what_passes(places: TimelineEntryQuerySet) -> int:
    """Shows hidden places again, but where there are filters only those that they do not hide: a bit later.

    `places` are those of one reason for being hidden, by which they are found. In the caller's transaction.
    Returns how many are shown at once.
    """
    waiting = places.filter(channel__filters__isnull=False)
    channels = set(waiting.order_by().values_list("channel", flat=True))
    if channels:
        # (Channels are locked before places, as `_apply` does.)
        ask_again(channels)
        waiting.update(hidden=TimelineEntry.Hidden.FILTERED)
    return show(places)


def channels_to_ask() -> "QuerySet[Channel]":
    """Those whose filters were not asked of all posts yet, since they changed."""
    return Channel.objects.filter(ask_below__isnull=False)


def ask_filters(*, budget: timedelta | None = None) -> int:
    """Asks filters that changed, until all posts of all channels were asked about or the budget is spent.

    Returns how many posts.
    """
    left = TimeBudget(budget)
    done = 0
    while not left.is_spent and (channel := channels_to_ask().order_by("pk").first()):
        done += ask_filters_of(channel, left=left)
    return done


def ask_filters_of(channel: Channel, *, left: TimeBudget) -> int:
    """Hides and shows what stands in a channel as its filters say: the newest first, some hundred at once."""
    done = 0
    while not left.is_spent:
        now = channels_to_ask().filter(pk=channel.pk).first()
        if now is None or now.ask_below is None:
            break
        # By entries, because their index in a channel gives them in order.
        rows = TimelineEntry.objects.filter(channel=now, entry__lt=now.ask_below, hidden__in=ASKED_ABOUT)
        places = list(rows.order_by("-entry").select_related("entry").defer("entry__text")[:ASKED_TOGETHER])
        filters = Filters.read(now.filters)
        hidden: list[int] = []
        passing: list[int] = []
        for place in places:
            said = verdict(filters, place.entry)
            note_trouble(now, said.failed)
            (hidden if said.field else passing).append(place.pk)
        done += _apply(now, hidden, passing, places[-1].entry_id if len(places) == ASKED_TOGETHER else None)
    return done


@transaction.atomic
def _apply(channel: Channel, hidden: list[int], passing: list[int], below: int | None) -> int:
    """Returns how many, or 0 where the filters changed meanwhile: then they are asked once more."""
    unchanged = Channel.objects.select_for_update(no_key=True).filter(
        pk=channel.pk, ask_below=channel.ask_below
    )
    row = unchanged.first()
    if row is None or row.filters != channel.filters:
        return 0
    hide(TimelineEntry.objects.filter(pk__in=hidden), TimelineEntry.Hidden.FILTERED)
    show(TimelineEntry.objects.filter(pk__in=passing, hidden=TimelineEntry.Hidden.FILTERED))
    Channel.objects.filter(pk=channel.pk).update(ask_below=below)
    return len(hidden) + len(passing)
