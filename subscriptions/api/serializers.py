"""Serializers, which never show secrets or tokens."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from common.clock import utcnow
from subscriptions.admin_words import rhythm_for_admins
from subscriptions.models import Destination, Subscribable, Subscription
from subscriptions.newsletters.define import NEWSLETTER_FIELDS, next_close
from subscriptions.rules.cron_plan import week_plan

WEEKDAY_NAMES = tuple(label.lower() for label in Subscribable.Weekday.labels)
SHOWN_STATUSES = (*Subscription.Status.values, "suppressed")


class SubscribableSerializer(serializers.ModelSerializer[Subscribable]):
    """A newsletter, or a bridge to an account."""

    # Of `with_figures`.
    feeds = serializers.PrimaryKeyRelatedField[Any](many=True, read_only=True)
    subscribers = serializers.IntegerField(read_only=True, help_text="Confirmed subscribers.")
    open = serializers.IntegerField(read_only=True, help_text="Collections being filled.")
    next_close = serializers.SerializerMethodField()
    at = serializers.SerializerMethodField(help_text="Hours and minutes in its time zone.")
    weekday = serializers.SerializerMethodField(help_text="weekly: the day.")
    weekdays = serializers.SerializerMethodField(
        help_text="The days, if issues are sent once on certain weekdays, weekly or by a cron line."
    )
    rhythm = serializers.SerializerMethodField(help_text="The schedule in words.")
    options = serializers.DictField(child=serializers.CharField(), read_only=True)
    params = serializers.DictField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = Subscribable
        fields = (
            "id",
            *NEWSLETTER_FIELDS,
            "weekdays",
            "feeds",
            "rhythm",
            "subscribers",
            "open",
            "next_close",
            "sending_paused_at",
            "sending_paused_reason",
            "created_at",
        )
        read_only_fields = fields

    @extend_schema_field(serializers.DateTimeField(allow_null=True))
    def get_next_close(self, subscribable: Any) -> Any:
        closes = next_close(subscribable, now=utcnow())
        return serializers.DateTimeField().to_representation(closes) if closes else None

    def get_at(self, subscribable: Subscribable) -> str:
        return f"{subscribable.at:%H:%M}"

    @extend_schema_field(serializers.ChoiceField(choices=WEEKDAY_NAMES))
    def get_weekday(self, subscribable: Subscribable) -> str:
        return WEEKDAY_NAMES[subscribable.weekday]

    @extend_schema_field(serializers.ListField(child=serializers.ChoiceField(choices=WEEKDAY_NAMES)))
    def get_weekdays(self, subscribable: Subscribable) -> list[str]:
        plan = week_plan(subscribable.schedule)
        return [WEEKDAY_NAMES[day] for day in plan.weekdays] if plan else []

    def get_rhythm(self, subscribable: Subscribable) -> str:
        return rhythm_for_admins(subscribable)


class SubscriptionSerializer(serializers.ModelSerializer[Subscription]):
    """A person's subscription to one newsletter."""

    # Of `SubscriptionQuerySet.with_suppressed`.
    subscribable = serializers.CharField(source="subscribable.name", read_only=True)
    address = serializers.CharField(source="destination.label", read_only=True)
    name = serializers.CharField(source="display_name", read_only=True)
    status = serializers.SerializerMethodField()
    confirmed = serializers.SerializerMethodField()
    added = serializers.DateTimeField(source="added_at", read_only=True)
    tags = serializers.SerializerMethodField(help_text="Tags of the person, for all newsletters.")

    class Meta:
        model = Subscription
        fields = (
            "id",
            "subscribable",
            "destination",
            "address",
            "name",
            "status",
            "confirmed",
            "added",
            "confirmed_at",
            "left_at",
            "paused_until",
            "language",
            "tags",
        )
        read_only_fields = fields

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_tags(self, subscription: Subscription) -> list[str]:
        return sorted(tagging.tag.name for tagging in subscription.destination.taggings.all())

    @extend_schema_field(serializers.ChoiceField(choices=SHOWN_STATUSES))
    def get_status(self, subscription: Any) -> str:
        return "suppressed" if subscription.suppressed else str(subscription.status)

    def get_confirmed(self, subscription: Subscription) -> bool:
        return subscription.status == Subscription.Status.CONFIRMED


class DestinationSerializer(serializers.ModelSerializer[Destination]):
    class Meta:
        model = Destination
        fields = ("id", "kind", "label", "added_at", "disabled_at", "disabled_reason")
        read_only_fields = fields
