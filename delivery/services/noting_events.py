"""Writes down for webhooks what happened, in the transaction in which it happens."""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import connection

from common.events import Event
from common.statements import rows_of
from delivery.models import Webhook, WebhookCall
from delivery.rules.webhooks import GIVE_UP_AFTER
from delivery.services.event_payloads import Told, body_of, told

TOGETHER = 500
ERASED = "erased"


@dataclass(frozen=True, slots=True)
class Wish:
    """A webhook that wants an event; without `newsletters`, of all of them."""

    webhook_id: int
    newsletters: frozenset[int]

    def fits(self, one: Told) -> bool:
        return not self.newsletters or bool(self.newsletters & one.newsletters)


def note(event: Event) -> None:
    """Queues a call for each webhook that wants the event. Without webhooks: one question, and no more."""
    if _is_there_any() and (wishes := _wishes(event.kind)):
        for start in range(0, len(event.keys), TOGETHER):
            part = replace(event, keys=event.keys[start : start + TOGETHER])
            WebhookCall.objects.bulk_create(list(_calls(part, wishes)))


def is_anybody_listening(kind: str) -> bool:
    """Whether a webhook wants such events."""
    return bool(_wishes(kind))


def _is_there_any() -> bool:
    """In plain SQL: every sign-up asks, and most installations have no webhook."""
    return bool(rows_of(connection, f"SELECT 1 FROM {Webhook._meta.db_table} WHERE active LIMIT 1", ()))  # noqa: S608


def _wishes(kind: str) -> list[Wish]:
    chosen: dict[int, set[int]] = defaultdict(set)
    rows = Webhook.objects.filter(active=True).order_by("pk")
    for pk, events, newsletter in rows.values_list("pk", "events", "newsletters"):
        if kind in events:
            chosen[pk] |= {newsletter} - {None}
    return [Wish(pk, frozenset(newsletters)) for pk, newsletters in chosen.items()]


def _calls(event: Event, wishes: Iterable[Wish]) -> Iterator[WebhookCall]:
    erased = event.facts.get("how") == ERASED
    for one in told(event):
        event_id, body = fresh_id(), body_of(event.kind, event.at, one.data)
        for wish in wishes:
            if wish.fits(one):
                call = call_of(wish.webhook_id, event_id, event.kind, body, now=event.at)
                # The row would go with the person, and nobody would hear of it.
                call.destination_id, call.forget = (None, True) if erased else (one.person, False)
                yield call


def call_of(webhook_id: int, event_id: str, kind: str, body: str, *, now: datetime) -> WebhookCall:
    """A call that is due, not saved."""
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
    """What receivers know an event by: "evt_" and 32 characters."""
    return f"evt_{uuid.uuid4().hex}"
