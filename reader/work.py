"""First queries of each stage: if they find nothing, no pass is needed."""

from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from reader.channels.opml import waiting_lists
from reader.entries.filters import channels_to_ask
from reader.models import Composition, Entry, FeedIcon, Mention

Questions = tuple[QuerySet[Any], ...]


def to_place(now: datetime) -> Questions:
    return (Entry.objects.due(now),)


def to_ask(now: datetime) -> Questions:
    return (channels_to_ask(),)


def to_follow(now: datetime) -> Questions:
    return waiting_lists(now), FeedIcon.objects.due(now)


def to_check(now: datetime) -> Questions:
    return (Mention.objects.due(now),)


def to_compose(now: datetime) -> Questions:
    return (Composition.objects.due(now),)
