"""Events that services emit within their transactions, for later apps."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from django.db import transaction
from django.dispatch import Signal

# Connect receivers in AppConfig.ready(); an exception in one rolls back the transaction.
happened = Signal()


class EventKind(StrEnum):
    """The values are the types of webhooks and must not change."""

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
    """Event of the rows (subscriptions, bounces, issues, posts or feeds) with these `keys`.

    `facts` are not in the rows.
    """

    kind: EventKind
    keys: tuple[int, ...]
    at: datetime
    facts: Mapping[str, str | int] = field(default_factory=dict)


class NoTransaction(RuntimeError):
    """A programming error: listeners' rows could outlive a rollback."""


def emit(event: Event) -> None:
    """Notify listeners in the caller's transaction, before rows are deleted."""
    if not transaction.get_connection().in_atomic_block:
        raise NoTransaction(f"{event.kind} was emitted outside a transaction.")
    if event.keys:
        happened.send(event.kind, event=event)
