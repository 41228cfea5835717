"""Request bodies of newsletters, subscribers and addresses.

Serializers, which never show secrets or tokens.
"""

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from common.api.fields import Choice, Day, Fields, Flag, ModelFields, Pattern, StrictInteger, Text, Texts
from common.clock import utcnow
from subscriptions.admin_words import rhythm_for_admins
from subscriptions.branding.brands import SITE_FIELDS
from subscriptions.models import Destination, SiteSettings, Subscribable, Subscription
from subscriptions.newsletters.define import MAX_PARAMS, NEWSLETTER_FIELDS, next_close
from subscriptions.rules.schedule import week_plan
from subscriptions.rules.sign_up import LONGEST_NAME
from subscriptions.rules.tags import LONGEST_TAG, MOST_TAGS_OF_ONE

WEEKDAY_NAMES = tuple(label.lower() for label in Subscribable.Weekday.labels)
SHOWN_STATUSES = (*Subscription.Status.values, "suppressed")
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
