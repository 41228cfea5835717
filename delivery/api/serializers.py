"""Issues and deliveries as the API shows them, in the words of the commands."""

from typing import Any

from drf_spectacular.utils import extend_schema_field, inline_serializer
from rest_framework import serializers

from delivery.models import Delivery, Issue
from delivery.rules.progress import STATES
from delivery.services import progress

COUNTS: Any = inline_serializer(
    "IssueCounts", {state: serializers.IntegerField() for state in Delivery.State.values}
)


class IssueSerializer(serializers.ModelSerializer[Issue]):
    """Needs `counts`, which the view set puts on each issue."""

    subscribable = serializers.CharField(source="subscribable.name")
    state = serializers.SerializerMethodField(help_text="draft, sending, sent, paused or cancelled.")
    counts = serializers.SerializerMethodField(help_text="How many deliveries are in each state.")

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
            "period_start",
            "period_end",
            "created_at",
            "release_at",
            "published_at",
            "paused_at",
            "cancelled_at",
        )
        read_only_fields = fields

    @extend_schema_field(serializers.ChoiceField(choices=[(state, state) for state in STATES]))
    def get_state(self, issue: Any) -> str:
        return progress.state(issue, issue.counts)

    @extend_schema_field(COUNTS)
    def get_counts(self, issue: Any) -> dict[str, int]:
        return {state: issue.counts[state] for state in Delivery.State.values}


class ApprovalSerializer(serializers.Serializer[Any]):
    """What approving takes."""

    at = serializers.DateTimeField(required=False, help_text="Not now, but then.")


class DeliverySerializer(serializers.ModelSerializer[Delivery]):
    """Without the context: it holds confirmation links."""

    destination = serializers.CharField(source="destination.label")

    class Meta:
        model = Delivery
        fields = (
            "id",
            "kind",
            "issue",
            "destination",
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
