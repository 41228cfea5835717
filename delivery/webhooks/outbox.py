"""Record webhook calls in the event's transaction (docs/webhooks.md).

They have ids, addresses and names, never tokens.
"""

import json
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

from django.db import connection

from channels.rules.webhooks import GIVE_UP_AFTER
from common.db.bulk import batched
from common.db.prepared import rows_of
from common.html.clean import plain
from common.ports.events import Event, EventKind
from common.text import shortened
from delivery.links import issue_url
from delivery.models import Bounce, Issue, Webhook, WebhookCall
from feeds.models import Feed, Item
from feeds.parsing.entry import Entry
from subscriptions.models import Assignment, Destination, Subscribable, Subscription
from subscriptions.subscribers.tags import fetch_tags

EVENT_VERSION = 1
# For words of servers.
MAX_QUOTED = 500
TOGETHER = 500
ERASED = "erased"
# In the admin and the API's description.
EVENT_WORDS: Mapping[str, str] = MappingProxyType(
    {
        EventKind.CREATED: "Somebody asks to subscribe",
        EventKind.CONFIRMED: "A subscription is confirmed",
        EventKind.UPDATED: "A subscriber’s name, language, pause or tags change",
        EventKind.LEFT: "A subscriber leaves",
        EventKind.BOUNCED: "An email bounces, or its recipient complains",
        EventKind.PUBLISHED: "An issue is published",
        EventKind.FINISHED: "The last email of an issue is done",
        EventKind.POST: "A feed has a new post",
        EventKind.FAILING: "A feed has been failing for a day, or is gone",
        EventKind.RECOVERED: "A feed that failed can be read again",
    }
)


@dataclass(frozen=True, slots=True)
class WebhookBody:
    """Event of a row, with newsletter and destination keys."""

    data: dict[str, Any]
    newsletters: frozenset[int]
    person: int | None = None


def body_of(kind: str, at: datetime, data: Mapping[str, Any]) -> str:
    whole = {"type": kind, "timestamp": at.isoformat(), "version": EVENT_VERSION, "data": data}
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":"))


def _of_subscriptions(event: Event) -> Iterator[WebhookBody]:
    rows = Subscription.objects.filter(pk__in=event.keys).select_related("subscribable", "destination")
    for row in rows.prefetch_related(fetch_tags("destination")).order_by("pk"):
        tags = sorted(tagging.tag.name for tagging in row.destination.taggings.all())
        subscription = _subscription(row) | {"tags": tags}
        if event.kind is EventKind.LEFT:
            # For others it has ended; letters may follow after a change of frequency.
            subscription |= {"status": "unsubscribed", "left_at": _moment(row.left_at or event.at)}
        data = {
            **event.facts,
            "subscription": subscription,
            "subscriber": _subscriber(row.destination),
            "newsletter": _newsletter(row.subscribable),
        }
        yield WebhookBody(data, frozenset({row.subscribable_id}), row.destination_id)


def _of_bounces(event: Event) -> Iterator[WebhookBody]:
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
                "said": row.diagnostic[:MAX_QUOTED],
            },
            "delivery": {"id": delivery.pk, "kind": delivery.kind, "issue": delivery.issue_id},
            "subscription": _subscription(subscription) if subscription else None,
            "subscriber": _subscriber(reader),
            "newsletter": _newsletter(newsletter) if newsletter else None,
        }
        yield WebhookBody(data, frozenset({newsletter.pk} if newsletter else ()), reader.pk)


def _of_issues(event: Event) -> Iterator[WebhookBody]:
    rows = Issue.objects.filter(pk__in=event.keys).select_related("subscribable").order_by("pk")
    for row in rows.defer("html", "text", "placeholders"):
        data = {
            "issue": {
                "id": row.pk,
                "title": row.title,
                "subject": row.subject,
                "url": issue_url(row),
                "published_at": _moment(row.published_at),
                "posts": row.issue_items.count(),
                **(event.facts if event.kind is EventKind.PUBLISHED else {"counts": dict(event.facts)}),
            },
            "newsletter": _newsletter(row.subscribable),
        }
        yield WebhookBody(data, frozenset({row.subscribable_id}))


def _of_posts(event: Event) -> Iterator[WebhookBody]:
    rows = Item.objects.filter(pk__in=event.keys).select_related("feed").order_by("pk")
    for row in rows:
        entry = Entry.from_json(row.entry or {})
        taken = Assignment.objects.filter(item=row, left_out_at=None).values("assignable__subscribable")
        newsletters = list(Subscribable.objects.filter(pk__in=taken).order_by("pk"))
        data = {
            "post": {
                "id": row.pk,
                "title": row.title,
                "url": row.link,
                "authors": list(entry.authors),
                "summary": shortened(plain(entry.summary or entry.html), MAX_QUOTED),
                "categories": list(entry.categories),
                "published_at": _moment(row.published_at),
            },
            "feed": {"id": row.feed_id, "url": row.feed.url, "title": row.feed.title},
            "newsletters": [_newsletter(one) for one in newsletters],
        }
        yield WebhookBody(data, frozenset(one.pk for one in newsletters))


def _of_feeds(event: Event) -> Iterator[WebhookBody]:
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
                "error": row.last_error[:MAX_QUOTED],
            },
            "newsletters": [_newsletter(one) for one in newsletters],
        }
        yield WebhookBody(data, frozenset(one.pk for one in newsletters))


def _subscription(row: Subscription) -> dict[str, Any]:
    return {
        "id": row.pk,
        "status": row.status,
        "name": row.display_name,
        "language": row.language,
        "added_at": _moment(row.added_at),
        "confirmed_at": _moment(row.confirmed_at),
        "left_at": _moment(row.left_at),
        "paused_until": _moment(row.paused_until),
    }


def _subscriber(row: Destination) -> dict[str, Any]:
    """Return a subscriber. Its id is the API's destination id."""
    return {"id": row.pk, "kind": row.kind, "address": row.label}


def _newsletter(row: Subscribable) -> dict[str, Any]:
    return {"id": row.pk, "name": row.name, "title": str(row)}


def _moment(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


# One body per existing row.
_BODIES: Mapping[EventKind, Callable[[Event], Iterator[WebhookBody]]] = MappingProxyType(
    {
        EventKind.CREATED: _of_subscriptions,
        EventKind.CONFIRMED: _of_subscriptions,
        EventKind.UPDATED: _of_subscriptions,
        EventKind.LEFT: _of_subscriptions,
        EventKind.BOUNCED: _of_bounces,
        EventKind.PUBLISHED: _of_issues,
        EventKind.FINISHED: _of_issues,
        EventKind.POST: _of_posts,
        EventKind.FAILING: _of_feeds,
        EventKind.RECOVERED: _of_feeds,
    }
)


@dataclass(frozen=True, slots=True)
class PendingEvent:
    """Webhook that wants an event, of all newsletters if `newsletters` is empty."""

    webhook_id: int
    newsletters: frozenset[int]

    def fits(self, one: WebhookBody) -> bool:
        return not self.newsletters or bool(self.newsletters & one.newsletters)


def enqueue(event: Event, **signal: object) -> None:
    """Queue a call per interested webhook. One query if there is none."""
    # Plain SQL: each sign-up runs it, mostly without webhooks.
    active = f"SELECT 1 FROM {Webhook._meta.db_table} WHERE active LIMIT 1"  # noqa: S608
    if not rows_of(connection, active, ()) or not (wishes := _wishes(event.kind)):
        return
    erased = event.facts.get("how") == ERASED
    for keys in batched(event.keys, TOGETHER):
        calls = []
        for one in _BODIES[event.kind](replace(event, keys=tuple(keys))):
            event_id, body = fresh_id(), body_of(event.kind, event.at, one.data)
            for wish in [wish for wish in wishes if wish.fits(one)]:
                call = call_of(wish.webhook_id, event_id, event.kind, body, now=event.at)
                # With this key, the call would be deleted with the person.
                call.destination_id, call.forget = (None, True) if erased else (one.person, False)
                calls.append(call)
        WebhookCall.objects.bulk_create(calls)


def is_anybody_listening(kind: str) -> bool:
    return bool(_wishes(kind))


def _wishes(kind: str) -> list[PendingEvent]:
    chosen: dict[int, set[int]] = defaultdict(set)
    rows = Webhook.objects.filter(active=True).order_by("pk")
    for pk, events, newsletter in rows.values_list("pk", "events", "newsletters"):
        if kind in events:
            chosen[pk] |= {newsletter} - {None}
    return [PendingEvent(pk, frozenset(newsletters)) for pk, newsletters in chosen.items()]


def call_of(webhook_id: int, event_id: str, kind: str, body: str, *, now: datetime) -> WebhookCall:
    return WebhookCall(
        webhook_id=webhook_id,
        event_id=event_id,
        kind=kind,
        body=body,
        created_at=now,
        due_at=now,
        give_up_at=now + GIVE_UP_AFTER,
    )


def fresh_id() -> str:
    """Return "evt_" and 32 characters, by which receivers know an event."""
    return f"evt_{uuid.uuid4().hex}"
