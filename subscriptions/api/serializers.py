"""Newsletters, subscribers and destinations as the API shows them. Never secrets, never tokens."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from common.clock import utcnow
from subscriptions.management.rows import next_end
from subscriptions.models import Destination, Subscribable, Subscription


class SubscribableSerializer(serializers.ModelSerializer[Subscribable]):
    feeds = serializers.PrimaryKeyRelatedField[Any](many=True, read_only=True)
    subscribers = serializers.IntegerField(read_only=True, help_text="Confirmed subscribers.")
    open = serializers.IntegerField(read_only=True, help_text="Collections being filled.")
    next_close = serializers.SerializerMethodField()

    class Meta:
        model = Subscribable
        fields = (
            "id",
            "name",
            "title",
            "description",
            "channel",
            "arrangement",
            "time_zone",
            "feeds",
            "subscribers",
            "open",
            "next_close",
            "n",
            "max_wait_days",
            "at",
            "weekday",
            "day_of_month",
            "cron",
            "visibility",
            "sign_up",
            "language",
            "stopped",
            "from_email",
            "reply_to",
            "params",
            "created_at",
        )
        read_only_fields = fields

    @extend_schema_field(serializers.DateTimeField(allow_null=True))
    def get_next_close(self, subscribable: Any) -> Any:
        closes = subscribable.closes or next_end(subscribable, now=utcnow())
        return serializers.DateTimeField().to_representation(closes) if closes else None


class SubscriptionSerializer(serializers.ModelSerializer[Subscription]):
    subscribable = serializers.CharField(source="subscribable.name")
    name = serializers.CharField(source="display_name")
    status = serializers.SerializerMethodField()
    confirmed = serializers.SerializerMethodField()
    added = serializers.DateTimeField(source="added_at")

    class Meta:
        model = Subscription
        fields = (
            "id",
            "subscribable",
            "destination",
            "name",
            "status",
            "confirmed",
            "added",
            "confirmed_at",
            "left_at",
            "language",
        )
        read_only_fields = fields

    def get_status(self, subscription: Any) -> str:
        return "suppressed" if subscription.suppressed else str(subscription.status)

    def get_confirmed(self, subscription: Subscription) -> bool:
        return subscription.status == Subscription.Status.CONFIRMED


class DestinationSerializer(serializers.ModelSerializer[Destination]):
    class Meta:
        model = Destination
        fields = ("id", "kind", "label", "added_at", "disabled_at", "disabled_reason")
        read_only_fields = fields
