"""Feeds and items as the API shows them, in the words of the commands."""

from rest_framework import serializers

from feeds.models import Feed, Item


class FeedSerializer(serializers.ModelSerializer[Feed]):
    status = serializers.CharField(source="health", help_text="active, failing, paused, stopped or held")

    class Meta:
        model = Feed
        fields = (
            "id",
            "url",
            "title",
            "site_url",
            "status",
            "added_at",
            "last_polled_at",
            "next_poll_at",
            "last_error",
            "min_delay_minutes",
            "await_stabilization_minutes",
            "max_delay_minutes",
            "recheck_every_minutes",
        )
        read_only_fields = fields


class ItemSerializer(serializers.ModelSerializer[Item]):
    class Meta:
        model = Item
        fields = (
            "id",
            "feed",
            "guid",
            "link",
            "title",
            "published_at",
            "state",
            "reason",
            "first_seen",
            "stable_since",
            "last_checked",
            "final_at",
            "vanished_at",
        )
        read_only_fields = fields
