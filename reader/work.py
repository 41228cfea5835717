"""The first query of each stage: where it finds nothing, no pass need begin."""

from datetime import datetime

from reader.models import Composition, Entry, Mention
from reader.models.composition import CompositionQuerySet
from reader.models.entry import EntryQuerySet
from reader.models.mention import MentionQuerySet


def to_place(now: datetime) -> tuple[EntryQuerySet]:
    return (Entry.objects.due(now),)


def to_check(now: datetime) -> tuple[MentionQuerySet]:
    return (Mention.objects.due(now),)


def to_compose(now: datetime) -> tuple[CompositionQuerySet]:
    return (Composition.objects.due(now),)
