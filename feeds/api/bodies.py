from drf_spectacular.utils import OpenApiExample, extend_schema_serializer
from rest_framework import serializers

from common.api.bodies import Fields, ModelFields
from common.api.fields import Choice, Pattern, StrictInteger, Text
from feeds.addresses import MAX_FEED_URL, NO_ADDRESS
from feeds.credentials import MAX_VALUE
from feeds.models import Feed
from feeds.models.feed import SETTINGS
from feeds.tags import MAX_TAG_NAME, MAX_TAGS_OF_A_FEED

MOST_POSTS = 5000
ADDRESS = r"^[Hh][Tt][Tt][Pp][Ss]?://[^\u0000]+$"


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
