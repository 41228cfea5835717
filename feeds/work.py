"""Cheap queries for the work of each stage, so that no pass begins in vain."""

from datetime import datetime

from django.db.models import QuerySet

from feeds.hubs.subscriptions import unread
from feeds.models import Feed, ItemPage, Push
from feeds.models.feed import FeedQuerySet
from feeds.polling.whole import due_pages


def to_poll(now: datetime) -> tuple[FeedQuerySet]:
    return (Feed.objects.due(now),)


def to_read(now: datetime) -> tuple[QuerySet[Push]]:
    return (unread(now),)


def to_fetch(now: datetime) -> tuple[QuerySet[ItemPage]]:
    return (due_pages(now),)
