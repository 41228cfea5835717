from rest_framework import serializers

from feeds.models import Feed, Item
from feeds.models.feed import HEALTH, SETTINGS


class FeedSerializer(serializers.ModelSerializer[Feed]):
    """Never with what is needed to read it: `needs_credentials` says whether there is such a thing."""

    status = serializers.ChoiceField(choices=HEALTH, source="health", read_only=True)
    tags = serializers.SlugRelatedField[Feed](slug_field="name", many=True, read_only=True)
    needs_credentials = serializers.SerializerMethodField()

    class Meta:
        model = Feed
        fields = (
            "id",
            "url",
            "title",
            "site_url",
            "language",
            "tags",
            "status",
            "added_at",
            "last_polled_at",
            "next_poll_at",
            "next_poll_why",
            "failing_since",
            "last_error",
            "warning",
            "held_since",
            "dropping",
            *(name for name in SETTINGS if name != "title"),
            "rhythm_minutes",
            "needs_credentials",
        )
        read_only_fields = fields

    def get_needs_credentials(self, feed: Feed) -> bool:
        return bool(feed.credentials)


class ItemSerializer(serializers.ModelSerializer[Item]):
    """A post. Its text is in the issues that carry it."""

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
            "held_at",
        )
        read_only_fields = fields
