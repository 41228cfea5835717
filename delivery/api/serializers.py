"""Issues and deliveries as the API shows them, in the words of the commands."""

from typing import Any

from drf_spectacular.utils import extend_schema_field, inline_serializer
from rest_framework import serializers

from delivery.issues import progress
from delivery.issues.audience import audience_of, named_now
from delivery.links import issue_url
from delivery.models import Attempt, Broadcast, Delivery, Issue
from delivery.models.issue import LETTER_STATES
from delivery.resources.deliveries import MOST_ATTEMPTS
from delivery.rules.progress import STATES
from subscriptions.models import Subscribable

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
