"""The first query of the place stage: where it finds nothing, no pass need begin."""

from datetime import datetime

from reader.models import Entry
from reader.models.entry import EntryQuerySet


def to_place(now: datetime) -> tuple[EntryQuerySet]:
    return (Entry.objects.due(now),)
