from django.db.models import Exists, F, OuterRef, QuerySet

from feeds.polling.known_items import chunks
from reader.models import Reader, TimelineEntry, Unread
from reader.models.entry import TimelineEntryQuerySet


def hide(places: TimelineEntryQuerySet, reason: TimelineEntry.Hidden) -> int:
    """Filtered places get the reason, too, as it is stronger."""
    hidden = 0
    if reason != TimelineEntry.Hidden.FILTERED:
        places.filter(hidden=TimelineEntry.Hidden.FILTERED).update(hidden=reason)
    for pks in chunks(_locked(places.seen())):
        is_unread = Exists(Unread.objects.filter(place=OuterRef("pk")))
        hidden += TimelineEntry.objects.seen().filter(pk__in=pks).update(hidden=reason, was_unread=is_unread)
        Unread.objects.filter(place__in=pks).delete()
    return hidden


def show(places: TimelineEntryQuerySet) -> int:
    shown = 0
    for pks in chunks(_locked(places.exclude(hidden=TimelineEntry.Hidden.SEEN))):
        rows = TimelineEntry.objects.filter(pk__in=pks)
        insert_unread(rows.filter(was_unread=True))
        shown += rows.update(hidden=TimelineEntry.Hidden.SEEN, was_unread=False)
    return shown


def note_change(places: TimelineEntryQuerySet) -> None:
    """Have streams announce the change. Locks readers in order."""
    readers = sorted(set(places.values_list("reader", flat=True)))
    for some in chunks(readers):
        rows = Reader.objects.filter(pk__in=some).order_by("pk").select_for_update(no_key=True)
        locked = list(rows.values_list("pk", flat=True))
        Reader.objects.filter(pk__in=locked).update(timeline_version=F("timeline_version") + 1)


def insert_unread(places: "QuerySet[TimelineEntry]") -> int:
    """The places must be locked."""
    rows = [
        Unread(place_id=pk, channel_id=channel, reader_id=reader, at=at)
        for pk, channel, reader, at in places.filter(unread=None).values_list("pk", "channel", "reader", "at")
    ]
    Unread.objects.bulk_create(rows, batch_size=1_000, ignore_conflicts=True)
    return len(rows)


def _locked(places: TimelineEntryQuerySet) -> list[int]:
    return list(places.order_by("pk").select_for_update(of=("self",)).values_list("pk", flat=True))
