"""Issues and deliveries as the API shows them, in the words of the commands."""

from rest_framework import serializers

from delivery.models import Delivery, Issue


class IssueSerializer(serializers.ModelSerializer[Issue]):
    subscribable = serializers.CharField(source="subscribable.name")

    class Meta:
        model = Issue
        fields = (
            "id",
            "subscribable",
            "within_type_id",
            "title",
            "subject",
            "period_start",
            "period_end",
            "created_at",
            "published_at",
        )
        read_only_fields = fields


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
            "attempts",
            "created_at",
            "due_at",
            "sent_at",
            "remote_id",
            "last_error",
        )
        read_only_fields = fields
