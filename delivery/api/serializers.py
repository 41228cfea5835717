"""Issues and deliveries as the API shows them, in the words of the commands.

The webhooks as OpenAPI describes them: each event's JSON (docs/webhooks.md).
"""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_field, inline_serializer
from rest_framework import serializers

from common.ports.events import EventKind
from delivery.issues import progress
from delivery.issues.audience import audience_of, named_now
from delivery.links import issue_url
from delivery.models import Attempt, Broadcast, Delivery, Issue
from delivery.models.issue import LETTER_STATES
from delivery.resources.deliveries import MOST_ATTEMPTS
from delivery.rules.progress import STATES
from delivery.webhooks.outbox import EVENT_VERSION, EVENT_WORDS
from subscriptions.models import Subscribable

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
COUNTS: Any = inline_serializer(
    "IssueCounts", {state: serializers.IntegerField() for state in Delivery.State.values}
)


class IssueSerializer(serializers.ModelSerializer[Issue]):
    """Needs `counts`, which the view set puts on each issue."""

    subscribable = serializers.CharField(source="subscribable.name", read_only=True)
    state = serializers.SerializerMethodField()
    counts = serializers.SerializerMethodField(help_text="How many deliveries are in each state.")
    url = serializers.SerializerMethodField(help_text="Its page in the archive; empty where there is none.")

    class Meta:
        model = Issue
        fields = (
            "id",
            "subscribable",
            "within_type_id",
            "title",
            "subject",
            "state",
            "counts",
            "url",
            "period_start",
            "period_end",
            "created_at",
            "release_at",
            "published_at",
            "paused_at",
            "cancelled_at",
        )
        read_only_fields = fields

    @extend_schema_field(serializers.ChoiceField(choices=STATES))
    def get_state(self, issue: Any) -> str:
        return progress.issue_state(issue, issue.counts)

    @extend_schema_field(COUNTS)
    def get_counts(self, issue: Any) -> dict[str, int]:
        return {state: issue.counts[state] for state in Delivery.State.values}

    def get_url(self, issue: Issue) -> str:
        return issue_url(issue) if issue.published_at else ""


class LetterSerializer(serializers.ModelSerializer[Broadcast]):
    """A letter that was written here; `issue` is the issue that it became."""

    subscribable = serializers.CharField(source="subscribable.name", read_only=True)
    state = serializers.ChoiceField(choices=LETTER_STATES, read_only=True)
    any_of = serializers.SerializerMethodField(help_text="Only subscribers with one of these tags get it.")
    none_of = serializers.SerializerMethodField(help_text="Subscribers with one of these tags don’t get it.")
    others = serializers.SerializerMethodField(help_text="Newsletters whose subscribers get it, too.")

    class Meta:
        model = Broadcast
        fields = (
            "id",
            "subscribable",
            "subject",
            "markdown",
            "any_of",
            "none_of",
            "others",
            "state",
            "version",
            "author",
            "created_at",
            "changed_at",
            "send_at",
            "last_error",
            "issue",
        )
        read_only_fields = fields

    def get_any_of(self, letter: Broadcast) -> list[str]:
        return list(named_now(letter).any_of.values())

    def get_none_of(self, letter: Broadcast) -> list[str]:
        return list(named_now(letter).none_of.values())

    def get_others(self, letter: Broadcast) -> list[str]:
        others = Subscribable.objects.filter(pk__in=audience_of(letter).others)
        return list(others.order_by("name").values_list("name", flat=True))


class LetterReadersSerializer(serializers.Serializer[Any]):
    """How many would get a letter now, and of how many."""

    count = serializers.IntegerField()
    of = serializers.IntegerField(help_text="All readers of its newsletters.")
    to = serializers.CharField(help_text="Whom it is for, in words.")


class AttemptSerializer(serializers.ModelSerializer[Attempt]):
    """An attempt that did not succeed, in the server's words."""

    class Meta:
        model = Attempt
        fields = ("at", "outcome", "status", "text")
        read_only_fields = fields


class DeliverySerializer(serializers.ModelSerializer[Delivery]):
    """Without the context: it holds confirmation links."""

    address = serializers.CharField(source="destination.label", read_only=True)
    held_for = serializers.ChoiceField(
        choices=["", *Delivery.HeldFor.values],
        read_only=True,
        help_text="What a held one waits for; empty: for a person to look at it.",
    )

    class Meta:
        model = Delivery
        fields = (
            "id",
            "kind",
            "issue",
            "destination",
            "address",
            "subscription",
            "state",
            "held_for",
            "attempts",
            "created_at",
            "due_at",
            "sent_at",
            "remote_id",
            "last_error",
        )
        read_only_fields = fields


class WholeDeliverySerializer(DeliverySerializer):
    """With the attempts that failed."""

    history = serializers.SerializerMethodField(
        help_text="The attempts that did not succeed, the latest 50 of them, newest first."
    )

    class Meta:
        model = Delivery
        fields = (*DeliverySerializer.Meta.fields, "history")
        read_only_fields = fields

    @extend_schema_field(AttemptSerializer(many=True))
    def get_history(self, delivery: Delivery) -> Any:
        return AttemptSerializer(delivery.attempt_rows.all()[:MOST_ATTEMPTS], many=True).data


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
