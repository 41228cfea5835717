"""First queries of each stage: if they find nothing, no pass is needed."""

from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from reader.channels.opml import waiting_lists
from reader.entries.filters import channels_to_ask
from reader.models import Composition, Entry, FeedIcon, Mention
from reader.models.entry import CompositionQuerySet, EntryQuerySet, MentionQuerySet


def to_place(now: datetime) -> tuple[EntryQuerySet]:
    return (Entry.objects.due(now),)


def to_ask(now: datetime) -> "tuple[QuerySet[Any]]":
    return (channels_to_ask(),)


def to_follow(now: datetime) -> "tuple[QuerySet[Any], QuerySet[Any]]":
    return waiting_lists(now), FeedIcon.objects.due(now)


def to_check(now: datetime) -> tuple[MentionQuerySet]:
    return (Mention.objects.due(now),)


def to_compose(now: datetime) -> tuple[CompositionQuerySet]:
    return (Composition.objects.due(now),)
