"""Feeds and items. Actions that touch newsletters are in subscriptions/api."""

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_serializer
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.fields import Choice, Fields, ModelFields, Pattern, StrictInteger, Text
from common.api.problems import Conflict
from common.api.resources import ResourceViewSet
from common.clock import utcnow
from common.resources import Resource
from feeds.adding.add import add_feed, alter_feed, feed_at
from feeds.addresses import MAX_FEED_URL, NO_ADDRESS
from feeds.credentials import MAX_VALUE
from feeds.items.held import exclude_held, release
from feeds.models import Feed, Item
from feeds.models.feed import HEALTH, SETTINGS
from feeds.polling.poll import request_poll
from feeds.resources import feeds, items
from feeds.tags import MAX_TAG_NAME, MAX_TAGS_OF_A_FEED

MOST_POSTS = 5000
ADDRESS = r"^[Hh][Tt][Tt][Pp][Ss]?://[^\u0000]+$"


class FeedSerializer(serializers.ModelSerializer[Feed]):
    """Never with what is needed to read it: `needs_credentials` says whether there is such a thing."""

    status = serializers.ChoiceField(choices=HEALTH, source="health", read_only=True)
    tags = serializers.SlugRelatedField[Feed](slug_field="name", many=True, read_only=True)
    needs_credentials = serializers.SerializerMethodField()

    class Meta:
        model = Feed
        fields = (
            *("id", "url", "title", "site_url", "language", "tags", "status", "added_at", "last_polled_at"),
            *("next_poll_at", "next_poll_why", "failing_since", "last_error", "warning", "held_since"),
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
            *("id", "feed", "guid", "link", "title", "published_at", "state", "reason", "first_seen"),
            *("stable_since", "last_checked", "final_at", "vanished_at", "held_at"),
        )
        read_only_fields = fields


class CredentialsFields(Fields):
    """A user name and password, or a header and its value; {} forgets them. Never shown again."""

    user = Text(max_length=MAX_VALUE, required=False)
    password = Text(max_length=MAX_VALUE, required=False)
    header = Text(max_length=100, required=False)
    value = Text(max_length=MAX_VALUE, required=False)


class ChangeFeed(ModelFields):
    """Left out, it stays as it is."""

    url = Pattern(ADDRESS, NO_ADDRESS, max_length=MAX_FEED_URL, required=False)
    tags = serializers.ListField(
        child=Text(max_length=MAX_TAG_NAME), max_length=MAX_TAGS_OF_A_FEED, required=False
    )
    credentials = CredentialsFields(required=False)

    class Meta:
        model = Feed
        fields = ("url", "status", "tags", "credentials", *SETTINGS)


@extend_schema_serializer(
    examples=[
        OpenApiExample(
            "A feed and its last three posts",
            {"url": "https://example.org/feed.xml", "tags": ["news"], "start": "last", "start_count": 3},
            request_only=True,
        )
    ]
)
class AddFeed(ChangeFeed):
    """Only `url` is needed: the rest has the usual values."""

    url = Pattern(ADDRESS, NO_ADDRESS, max_length=MAX_FEED_URL, help_text="The feed’s own address.")
    start_count = StrictInteger(
        max_value=MOST_POSTS, required=False, help_text="With “last”: how many, newest first."
    )

    class Meta:
        model = Feed
        fields = ("url", "tags", "credentials", *SETTINGS, "start", "start_count")


class DecideOnHeld(Fields):
    """The word that held posts wait for."""

    decision = Choice(choices=("send", "exclude"), help_text="Send them once they settle, or exclude them.")


class FeedViewSet(ResourceViewSet):
    area = "feeds"
    resource: ClassVar[Resource[Any]] = feeds
    queryset = Feed.objects.prefetch_related("tags")
    serializer_class = FeedSerializer
    bodies: ClassVar = {"create": AddFeed, "partial_update": ChangeFeed, "held": DecideOnHeld}

    @extend_schema(summary="Add a feed", responses={201: FeedSerializer})
    def create(self, request: Request) -> Response:
        """It is read within moments; whether that worked is in `last_error` then. 409 when there is a feed of
        this address already."""
        asked = self.body()
        if (there := feed_at(asked["url"])) is not None:
            raise Conflict(f"Feed {there.pk} has this address already: {self.address_of(there)}")
        return self.shown(add_feed(now=utcnow(), **asked).pk, code=status.HTTP_201_CREATED)

    @extend_schema(summary="Change a feed")
    def partial_update(self, request: Request, **_: Any) -> Response:
        """Its posts stay. `tags` are replaced. At a new address, only what comes from then on is sent."""
        alter_feed(feed=self.get_object(), **self.body())
        return self.shown()

    @extend_schema(summary="Read a feed soon", request=None, responses={202: FeedSerializer})
    @action(detail=True, methods=["post"])
    def poll(self, request: Request, **_: Any) -> Response:
        """Makes it due now. One that is failing keeps its back-off."""
        request_poll(feed_ids=[self.get_object().pk], now=utcnow())
        return self.shown(code=status.HTTP_202_ACCEPTED)

    @extend_schema(summary="Decide on held posts")
    @action(detail=True, methods=["post"])
    def held(self, request: Request, **_: Any) -> Response:
        """For a feed that brought many posts at once. Without held posts nothing changes."""
        act = release if self.body()["decision"] == "send" else exclude_held
        act(feed_ids=[self.get_object().pk], now=utcnow())
        return self.shown()


class ItemViewSet(ResourceViewSet):
    area = "feeds"
    resource = items
    serializer_class = ItemSerializer
