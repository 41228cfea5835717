"""Webhooks, and calls recorded in the event's transaction (docs/webhooks.md).

They have ids, addresses and names, never tokens.
"""

import json
import secrets
import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.db.models import QuerySet

from channels.rules.webhooks import GIVE_UP_AFTER, SECRET_BYTES, secret_of
from common.db.bulk import batched
from common.db.leases import lease
from common.db.prepared import rows_of
from common.html.clean import plain
from common.ports.events import Event, EventKind
from common.ports.panels import CannotAct
from common.secrets import opened
from common.text import shortened
from delivery.links import issue_url
from delivery.models import Bounce, Issue, Webhook, WebhookCall
from delivery.webhooks.calls import CALL_LEASE, TEST, WebhookResponse, job_of, post_call, record_response
from feeds.addresses import is_address
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
MOST_WEBHOOKS = 50
WHAT_A_TEST_SAYS = "This is a test. Nothing happened."


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
            for webhook_id, newsletters in wishes.items():
                if newsletters and not newsletters & one.newsletters:
                    continue
                call = call_of(webhook_id, event_id, event.kind, body, now=event.at)
                # With this key, the call would be deleted with the person.
                call.destination_id, call.forget = (None, True) if erased else (one.person, False)
                calls.append(call)
        WebhookCall.objects.bulk_create(calls)


def is_anybody_listening(kind: str) -> bool:
    return bool(_wishes(kind))


def _wishes(kind: str) -> dict[int, set[int]]:
    """Return webhooks that want an event, and of which newsletters; none means all."""
    chosen: dict[int, set[int]] = defaultdict(set)
    rows = Webhook.objects.filter(active=True).order_by("pk")
    for pk, events, newsletter in rows.values_list("pk", "events", "newsletters"):
        if kind in events:
            chosen[pk] |= {newsletter} - {None}
    return chosen


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


@transaction.atomic
def add_webhook(
    *, name: str, url: str, events: Sequence[str], newsletters: Iterable[Subscribable] = (), now: datetime
) -> tuple[Webhook, str]:
    """Return the webhook and its secret, shown only once. Raises ValidationError."""
    if Webhook.objects.count() >= MOST_WEBHOOKS:
        raise ValidationError(f"There are {MOST_WEBHOOKS} webhooks already. Delete one that is not needed.")
    secret = _fresh_secret()
    webhook = Webhook(created_at=now)
    webhook.secrets = {"secret": secret}
    _change(webhook, name=name, url=url, events=events, newsletters=newsletters)
    return webhook, secret


@transaction.atomic
def alter_webhook(
    *, webhook: Webhook, name: str, url: str, events: Sequence[str], newsletters: Iterable[Subscribable] = ()
) -> None:
    """Waiting calls use the new address now. Raises ValidationError."""
    locked = Webhook.objects.select_for_update(no_key=True).get(pk=webhook.pk)
    if url != locked.url:
        locked.failures, locked.failing_since, locked.free_at = 0, None, None
    _change(locked, name=name, url=url, events=events, newsletters=newsletters)


def _change(
    webhook: Webhook, *, newsletters: Iterable[Subscribable], events: Sequence[str], **values: Any
) -> None:
    for field, value in values.items():
        setattr(webhook, field, value)
    if not events or set(events) - set(EventKind):
        raise ValidationError({"events": f"Choose at least one of {', '.join(EventKind)}."})
    webhook.events = [kind.value for kind in EventKind if kind in events]
    if not is_address(webhook.url):
        raise ValidationError({"url": "It has to be an address that begins with https:// or http://."})
    if "@" in urlsplit(webhook.url).netloc:
        raise ValidationError(
            {"url": "Leave user and password out of the address: the signature says who is calling."}
        )
    webhook.full_clean()
    webhook.save()
    webhook.newsletters.set(newsletters)


@transaction.atomic
def rotate_secret(*, webhook: Webhook, now: datetime) -> str:
    """Return a new secret. The old one also signs for a day, so that receivers can switch."""
    locked = Webhook.objects.select_for_update(no_key=True).get(pk=webhook.pk)
    secret = _fresh_secret()
    try:
        previous = opened(locked.secrets).get("secret", "")
    except ValueError:  # a new SECRET_KEY: this repairs it
        previous = ""
    locked.secrets = {"secret": secret, **({"previous": previous} if previous else {})}
    locked.rotated_at = now
    locked.save(update_fields=["secrets", "rotated_at"])
    return secret


def send_test_call(*, webhook: Webhook, now: datetime) -> WebhookResponse:
    """Call once, even if paused."""
    token, until = lease(now, CALL_LEASE)
    body = body_of(TEST, now, {"message": WHAT_A_TEST_SAYS, "webhook": webhook.name})
    call = call_of(webhook.pk, fresh_id(), TEST, body, now=now)
    call.state, call.attempts = WebhookCall.State.SENDING, 1
    call.lease_token, call.lease_until = token, until
    call.save()
    job = job_of(call, webhook, token, now)
    answer = post_call(job, at=now)
    record_response(job=job, answer=answer, now=now)
    return answer


@transaction.atomic
def retry_calls(*, keys: Collection[int], now: datetime) -> int:
    """Repeat calls with their ids. Return how many. Raises CannotAct."""
    ready = WebhookCall.objects.filter(pk__in=keys).exclude(state=WebhookCall.State.SENDING)
    if ready.filter(body="").exists():
        raise CannotAct("What one of these said was forgotten: its person was erased. Leave it out.")
    if ready.filter(webhook__active=False).exists():
        raise CannotAct("The webhook is paused: resume it first.")
    Webhook.objects.filter(calls__in=ready).update(free_at=None)
    return ready.update(
        state=WebhookCall.State.QUEUED, due_at=now, give_up_at=now + GIVE_UP_AFTER, attempts=0, sent_at=None
    )


def forgettable_calls(before: datetime) -> "QuerySet[WebhookCall]":
    """Return older calls, except running ones."""
    return WebhookCall.objects.filter(created_at__lt=before).exclude(state=WebhookCall.State.SENDING)


def _fresh_secret() -> str:
    return secret_of(secrets.token_bytes(SECRET_BYTES))
