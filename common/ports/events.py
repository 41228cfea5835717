"""The port for events: services emit them within their transaction, and later apps hear them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from django.db import transaction
from django.dispatch import Signal


class EventKind(StrEnum):
    """The events that others may hear. The values never change: they are the types of webhooks."""

    CREATED = "subscription.created"
    CONFIRMED = "subscription.confirmed"
    UPDATED = "subscription.updated"
    LEFT = "subscription.left"
    BOUNCED = "delivery.bounced"
    PUBLISHED = "issue.published"
    FINISHED = "issue.finished"
    POST = "post.new"
    FAILING = "feed.failing"
    RECOVERED = "feed.recovered"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to each of the rows with these `keys`.

    The kind says whether they are keys of subscriptions, bounces, issues, posts or feeds. `facts` are not in
    the rows.
    """

    kind: EventKind
    keys: tuple[int, ...]
    at: datetime
    facts: Mapping[str, str | int] = field(default_factory=dict)


# Sent with `event`. Receivers are connected in AppConfig.ready(); what one raises ends the transaction.
happened = Signal()


class NoTransaction(RuntimeError):
    """A programming error: the event could be undone although listeners' rows are kept."""


def emit(event: Event) -> None:
    """Tells all listeners, in the caller's transaction, while the rows are still there."""
    if not transaction.get_connection().in_atomic_block:
        raise NoTransaction(f"{event.kind} was told outside a transaction.")
    if event.keys:
        happened.send(event.kind, event=event)
