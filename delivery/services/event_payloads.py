"""What happened, as webhooks tell it (docs/webhooks.md): ids, addresses and names, never a token."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from common.events import Event, Kind
from delivery.links import issue_url
from delivery.models import Bounce, Issue
from feeds.models import Feed
from subscriptions.models import Destination, Subscribable, Subscription

VERSION = 1


@dataclass(frozen=True, slots=True)
class Told:
    """An event of one row, with the keys of the newsletters it concerns, and of whom it is about."""

    data: dict[str, Any]
    newsletters: frozenset[int]
    person: int | None = None


def told(event: Event) -> Iterator[Told]:
    """One for each of its rows that are there."""
    return _TELLING[event.kind](event)


def body_of(kind: str, at: datetime, data: Mapping[str, Any]) -> str:
    """The JSON that goes out."""
    whole = {"type": kind, "timestamp": at.isoformat(), "version": VERSION, "data": data}
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":"))


def _of_subscriptions(event: Event) -> Iterator[Told]:
    rows = Subscription.objects.filter(pk__in=event.keys).select_related("subscribable", "destination")
    for row in rows.order_by("pk"):
        data = {
            **event.facts,
            "subscription": _left(row, event.at) if event.kind is Kind.LEFT else _subscription(row),
            "subscriber": _subscriber(row.destination),
            "newsletter": _newsletter(row.subscribable),
        }
        yield Told(data, frozenset({row.subscribable_id}), row.destination_id)


def _left(row: Subscription, at: datetime) -> dict[str, Any]:
    """To others it is over, although what is on its way may still arrive after a change of frequency."""
    return {**_subscription(row), "status": "unsubscribed", "left_at": _moment(row.left_at or at)}


def _of_bounces(event: Event) -> Iterator[Told]:
    rows = Bounce.objects.filter(pk__in=event.keys, delivery__isnull=False, destination__isnull=False)
    rows = rows.select_related("destination", "delivery__subscription__subscribable").order_by("pk")
    for row in rows.defer("delivery__context"):
        delivery, reader = row.delivery, row.destination
        assert delivery is not None and reader is not None  # noqa: S101, PT018 - filtered above
        subscription = delivery.subscription
        newsletter = subscription.subscribable if subscription else None
        data = {
            "bounce": {
                "id": row.pk,
                "kind": row.kind,
                "status": row.status,
                "said": row.diagnostic[:MAX_SAID],
            },
            "delivery": {"id": delivery.pk, "kind": delivery.kind, "issue": delivery.issue_id},
            "subscription": _subscription(subscription) if subscription else None,
            "subscriber": _subscriber(reader),
            "newsletter": _newsletter(newsletter) if newsletter else None,
        }
        yield Told(data, frozenset({newsletter.pk} if newsletter else ()), reader.pk)


def _of_issues(event: Event) -> Iterator[Told]:
    rows = Issue.objects.filter(pk__in=event.keys).select_related("subscribable").order_by("pk")
    for row in rows.defer("html", "text", "holes"):
        data = {
            "issue": {
                "id": row.pk,
                "title": row.title,
                "subject": row.subject,
                "url": issue_url(row),
                "published_at": _moment(row.published_at),
                "posts": row.issue_items.count(),
                **event.facts,
            },
            "newsletter": _newsletter(row.subscribable),
        }
        yield Told(data, frozenset({row.subscribable_id}))


def _of_feeds(event: Event) -> Iterator[Told]:
    for row in Feed.objects.filter(pk__in=event.keys).order_by("pk"):
        newsletters = list(Subscribable.objects.filter(feeds=row).order_by("pk"))
        data = {
            **event.facts,
            "feed": {
                "id": row.pk,
                "url": row.url,
                "title": row.title,
                "status": row.status,
                "failing_since": _moment(row.failing_since),
                "error": row.last_error[:MAX_SAID],
            },
            "newsletters": [_newsletter(one) for one in newsletters],
        }
        yield Told(data, frozenset(one.pk for one in newsletters))


# Of what servers say.
MAX_SAID = 500


def _subscription(row: Subscription) -> dict[str, Any]:
    return {
        "id": row.pk,
        "status": row.status,
        "name": row.display_name,
        "language": row.language,
        "added_at": _moment(row.added_at),
        "confirmed_at": _moment(row.confirmed_at),
        "left_at": _moment(row.left_at),
    }


def _subscriber(row: Destination) -> dict[str, Any]:
    """Called so as people would: its id is the API's of a destination."""
    return {"id": row.pk, "kind": row.kind, "address": row.label}


def _newsletter(row: Subscribable) -> dict[str, Any]:
    return {"id": row.pk, "name": row.name, "title": str(row)}


def _moment(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


_TELLING: Mapping[Kind, Callable[[Event], Iterator[Told]]] = MappingProxyType(
    {
        Kind.CREATED: _of_subscriptions,
        Kind.CONFIRMED: _of_subscriptions,
        Kind.LEFT: _of_subscriptions,
        Kind.BOUNCED: _of_bounces,
        Kind.PUBLISHED: _of_issues,
        Kind.FAILING: _of_feeds,
        Kind.RECOVERED: _of_feeds,
    }
)
