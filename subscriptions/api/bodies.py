"""Request bodies of newsletters, subscribers and addresses."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema_serializer
from rest_framework import serializers

from common.api.bodies import Fields, ModelFields
from common.api.fields import Choice, Day, Flag, Pattern, StrictInteger, Text, Texts
from subscriptions.api.serializers import WEEKDAY_NAMES
from subscriptions.branding.site import SITE_FIELDS
from subscriptions.models import SiteSettings, Subscribable
from subscriptions.newsletters.define import MAX_PARAMS, NEWSLETTER_FIELDS
from subscriptions.rules.sign_up import LONGEST_NAME
from subscriptions.rules.tags import LONGEST_TAG, MOST_TAGS_OF_ONE

NAME_PATTERN = r"^[A-Za-z0-9._-]{1,64}$"
LANGUAGE = r"^([A-Za-z]{2,3}(-[A-Za-z0-9]{1,8}){0,3})?$"
MOST_FEEDS = 500

MOST_IN_A_CALL = 500


def name(told: str = "", **kwargs: Any) -> Pattern:
    said = "A name is 1 to 64 letters, digits, dots, dashes or underscores."
    return Pattern(NAME_PATTERN, said, max_length=64, help_text=told, **kwargs)


def language(told: str) -> Pattern:
    said = "Give a language such as en or pt-BR."
    return Pattern(LANGUAGE, said, max_length=35, allow_blank=True, required=False, help_text=told)


def tags_field(told: str) -> serializers.ListField:
    return serializers.ListField(
        child=Text(max_length=LONGEST_TAG), max_length=MOST_TAGS_OF_ONE, required=False, help_text=told
    )


def words(longest: int, told: str = "") -> Text:
    return Text(max_length=longest, allow_blank=True, required=False, help_text=told)


class Weekday(Choice):
    """A day by its English name; the row has its number."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(choices=WEEKDAY_NAMES, **kwargs)

    def to_internal_value(self, data: Any) -> Any:
        return WEEKDAY_NAMES.index(super().to_internal_value(data))


class ChangeSubscribable(ModelFields):
    """Left out, it stays as it is. Letters being collected still go out at their time."""

    name = name("Part of its address.", required=False)
    feeds = serializers.ListField(
        child=StrictInteger(),
        min_length=1,
        max_length=MOST_FEEDS,
        required=False,
        help_text="The ids of its feeds.",
    )
    weekday = Weekday(required=False, help_text="weekly: the day.")
    weekdays = serializers.ListField(
        child=Weekday(),
        min_length=1,
        max_length=7,
        required=False,
        help_text="weekly: one or several days, in place of weekday. Several are kept as a cron line.",
    )
    language = language("Language of its emails, such as en.")
    options = Texts(longest=2000, most=20, required=False, help_text="Further settings of the channel.")
    params = Texts(
        longest=2000,
        most=MAX_PARAMS,
        required=False,
        help_text=f"Each is a %Field% in templates, {MAX_PARAMS} at most. Replaces those it had.",
    )

    class Meta:
        model = Subscribable
        fields = (*NEWSLETTER_FIELDS, "feeds", "weekdays")


@extend_schema_serializer(
    examples=[
        OpenApiExample(
            "A letter every Friday",
            {
                "name": "example-weekly",
                "title": "Example Weekly",
                "feeds": [1],
                "arrangement": "weekly",
                "weekday": "friday",
                "at": "07:00",
                "time_zone": "Europe/Berlin",
                "from_email": "Example <letters@example.org>",
            },
            request_only=True,
        )
    ]
)
class DefineSubscribable(ChangeSubscribable):
    """`name` and `feeds` are needed; the rest has the usual values."""

    name = name("Part of its address and of commands, such as example-weekly.")
    feeds = serializers.ListField(
        child=StrictInteger(), min_length=1, max_length=MOST_FEEDS, help_text="The ids of its feeds."
    )


@extend_schema_serializer(
    examples=[
        OpenApiExample(
            "Somebody who has agreed already",
            {
                "subscribable": "example-weekly",
                "to": {"email": "ada@example.org", "name": "Ada"},
                "confirmed": True,
            },
            request_only=True,
        )
    ]
)
class AddSubscription(Fields):
    """Who shall get what."""

    subscribable = name("The newsletter’s name.")
    to = Texts(
        longest=5000,
        most=20,
        help_text="The channel’s own fields: for email `email` and, if you like, `name`.",
    )
    confirmed = Flag(
        default=False,
        required=False,
        help_text="They agreed already, and you can prove it. Otherwise we email them a link to confirm.",
    )
    language = language("Language of confirmation and other service emails, such as en.")
    tags = tags_field("Tags apply to all newsletters of the person. Added to the existing ones.")


class AddSubscriptions(Fields):
    """Who shall get what, several at once."""

    subscriptions = serializers.ListField(child=AddSubscription(), min_length=1, max_length=MOST_IN_A_CALL)


class ChangeSubscription(Fields):
    """Left out, it stays as it is."""

    name = words(LONGEST_NAME, "The name that emails address them by.")
    language = language("Language of confirmation and other service emails, such as en.")
    tags = tags_field("Tags apply to all newsletters of the person. Replace the existing ones.")


class PauseSubscription(Fields):
    """How long."""

    until = Day(help_text="The day on which the subscription resumes, in the newsletter’s time zone.")


class ChangeSite(ModelFields):
    """Left out, it stays as it is; an empty text is the usual."""

    class Meta:
        model = SiteSettings
        fields = tuple(name for name in SITE_FIELDS if name != "logo")
