"""The webhooks as OpenAPI describes them: each event's JSON (docs/webhooks.md)."""

from collections.abc import Mapping
from typing import Any

from common.ports.events import EventKind
from delivery.webhooks.outbox import EVENT_VERSION, EVENT_WORDS

TEXT: dict[str, Any] = {"type": "string"}
KEY: dict[str, Any] = {"type": "integer"}
MOMENT: dict[str, Any] = {"type": "string", "format": "date-time"}
TEXTS: dict[str, Any] = {"type": "array", "items": TEXT}
COUNTS_BY_NAME: dict[str, Any] = {"type": "object", "additionalProperties": KEY}
SIGNATURE = {
    "id": "The event; the same for each try.",
    "timestamp": "Seconds since 1970.",
    "signature": "Standard Webhooks 1.0.0: “v1,” and the HMAC-SHA256 of `id.timestamp.body` in base64.",
}


def maybe(schema: dict[str, Any]) -> dict[str, Any]:
    return {"oneOf": [schema, {"type": "null"}]}


def some(optional: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    """An object; fields may be added to it later."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "required": required, "properties": properties}


NEWSLETTER_SCHEMA = some(id=KEY, name=TEXT, title=TEXT)
SUBSCRIBER = some(id=KEY, kind=TEXT, address=TEXT)
SUBSCRIPTION = some(
    ("tags",),
    id=KEY,
    status=TEXT,
    name=TEXT,
    language=TEXT,
    added_at=MOMENT,
    confirmed_at=maybe(MOMENT),
    left_at=maybe(MOMENT),
    paused_until=maybe(MOMENT),
    tags=TEXTS,
)
ISSUE = some(
    ("recipients", "counts"),
    id=KEY,
    title=TEXT,
    subject=TEXT,
    url=TEXT,
    published_at=maybe(MOMENT),
    posts=KEY,
    recipients=KEY,
    counts=COUNTS_BY_NAME,
)
OF_SUBSCRIPTION = some(
    ("how",), subscription=SUBSCRIPTION, subscriber=SUBSCRIBER, newsletter=NEWSLETTER_SCHEMA, how=TEXT
)
OF_ISSUE = some(issue=ISSUE, newsletter=NEWSLETTER_SCHEMA)
NEWSLETTERS = {"type": "array", "items": NEWSLETTER_SCHEMA}
OF_FEED = some(
    ("gone",),
    feed=some(id=KEY, url=TEXT, title=TEXT, status=TEXT, failing_since=maybe(MOMENT), error=TEXT),
    newsletters=NEWSLETTERS,
    gone={"type": "boolean"},
)
DATA: Mapping[EventKind, dict[str, Any]] = {
    EventKind.CREATED: OF_SUBSCRIPTION,
    EventKind.CONFIRMED: OF_SUBSCRIPTION,
    EventKind.UPDATED: OF_SUBSCRIPTION,
    EventKind.LEFT: OF_SUBSCRIPTION,
    EventKind.BOUNCED: some(
        bounce=some(id=KEY, kind=TEXT, status=TEXT, said=TEXT),
        delivery=some(id=KEY, kind=TEXT, issue=maybe(KEY)),
        subscription=maybe(SUBSCRIPTION),
        subscriber=SUBSCRIBER,
        newsletter=maybe(NEWSLETTER_SCHEMA),
    ),
    EventKind.PUBLISHED: OF_ISSUE,
    EventKind.FINISHED: OF_ISSUE,
    EventKind.POST: some(
        post=some(
            id=KEY,
            title=TEXT,
            url=TEXT,
            authors=TEXTS,
            summary=TEXT,
            categories=TEXTS,
            published_at=maybe(MOMENT),
        ),
        feed=some(id=KEY, url=TEXT, title=TEXT),
        newsletters=NEWSLETTERS,
    ),
    EventKind.FAILING: OF_FEED,
    EventKind.RECOVERED: OF_FEED,
}


def body_schema(kind: EventKind) -> dict[str, Any]:
    """Return the JSON schema of an event's body."""
    return some(
        type={"const": kind.value}, timestamp=MOMENT, version={"const": EVENT_VERSION}, data=DATA[kind]
    )


def describe_webhooks(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add the webhooks to the OpenAPI document. Called by drf-spectacular (POSTPROCESSING_HOOKS)."""
    result["webhooks"] = {kind.value: {"post": _operation(kind)} for kind in EventKind}
    return result


def _operation(kind: EventKind) -> dict[str, Any]:
    headers = [
        {"name": f"webhook-{name}", "in": "header", "required": True, "description": words, "schema": TEXT}
        for name, words in SIGNATURE.items()
    ]
    return {
        "summary": EVENT_WORDS[kind],
        "description": "Answer with any 2xx within ten seconds. Each call is made at least once.",
        "parameters": headers,
        "requestBody": {"required": True, "content": {"application/json": {"schema": body_schema(kind)}}},
        "responses": {"2XX": {"description": "Taken."}},
    }
