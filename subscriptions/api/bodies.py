"""Request bodies of newsletters, subscribers and addresses."""

from datetime import time
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema_serializer
from rest_framework import serializers
from rest_framework.fields import empty

from common.api.bodies import Fields
from common.api.fields import Choice, Day, Flag, Pattern, StrictInteger, Text, Texts
from common.api.pagination import ListParameters, search
from subscriptions.api.serializers import WEEKDAY_NAMES
from subscriptions.models import Subscribable, Subscription
from subscriptions.newsletters.define import LONGEST_APPROVAL, MAX_GRACE, MAX_PARAMS
from subscriptions.rules.sign_up import LONGEST_NAME
from subscriptions.rules.tags import LONGEST_TAG, MOST_TAGS_OF_ONE
from subscriptions.rules.validation import MAX_N, MAX_WAIT_DAYS

NAME_PATTERN = r"^[A-Za-z0-9._-]{1,64}$"
LANGUAGE = r"^([A-Za-z]{2,3}(-[A-Za-z0-9]{1,8}){0,3})?$"
CLOCK = r"^([01][0-9]|2[0-3]):[0-5][0-9]$"
MOST_FEEDS = 500
LONGEST_DESCRIPTION = 10_000
LONGEST_ADDRESS = 700
MOST_AT_ONCE = 500


def name(told: str = "", **kwargs: Any) -> Pattern:
    said = "A name is 1 to 64 letters, digits, dots, dashes or underscores."
    return Pattern(NAME_PATTERN, said, max_length=64, help_text=told, **kwargs)


def language(told: str) -> Pattern:
    said = "Give a language such as en or pt-BR."
    return Pattern(LANGUAGE, said, max_length=35, allow_blank=True, required=False, help_text=told)


def number(most: int, told: str, least: int = 1) -> StrictInteger:
    return StrictInteger(min_value=least, max_value=most, required=False, allow_null=True, help_text=told)


def tags_field(told: str) -> serializers.ListField:
    return serializers.ListField(
        child=Text(max_length=LONGEST_TAG), max_length=MOST_TAGS_OF_ONE, required=False, help_text=told
    )


def words(longest: int, told: str = "") -> Text:
    return Text(max_length=longest, allow_blank=True, required=False, help_text=told)


class Clock(Pattern):
    """An hour of the day."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(CLOCK, "Give hours and minutes, such as 07:00.", max_length=5, **kwargs)

    def run_validation(self, data: Any = empty) -> Any:
        hour, minute = super().run_validation(data).split(":")
        return time(int(hour), int(minute))


class Weekday(Choice):
    """A day by its English name; the row has its number."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(choices=WEEKDAY_NAMES, **kwargs)

    def to_internal_value(self, data: Any) -> Any:
        return WEEKDAY_NAMES.index(super().to_internal_value(data))


class SubscribableParameters(ListParameters):
    channel = Text(min_length=1, max_length=20, required=False, help_text="Such as email.")
    arrangement = Choice(choices=Subscribable.Arrangement.choices, required=False)
    visibility = Choice(choices=Subscribable.Visibility.choices, required=False)
    feed = StrictInteger(required=False, help_text="The id of one of its feeds.")
    stopped = Flag(required=False)
    search = search("Part of the name or title.")


class SubscriptionParameters(ListParameters):
    subscribable = name("The newsletter’s name.", required=False)
    destination = StrictInteger(required=False, help_text="The address’s id.")
    status = Choice(choices=Subscription.Status.values, required=False)
    address = Text(
        min_length=1, max_length=LONGEST_ADDRESS, required=False, help_text="The whole e-mail address. Quick."
    )
    tag = Text(max_length=LONGEST_TAG, required=False, help_text="A tag’s name, whatever its capitals.")
    search = search("Part of the address or name. Slow with very many subscribers.")


class DestinationParameters(ListParameters):
    kind = Text(min_length=1, max_length=20, required=False, help_text="The channel, such as email.")
    address = Text(
        min_length=1, max_length=LONGEST_ADDRESS, required=False, help_text="The whole e-mail address. Quick."
    )
    disabled = Flag(required=False)
    search = search("Part of the address. Slow with very many.")


class ChangeSubscribable(Fields):
    """Left out, it stays as it is. Letters being collected still go out at their time."""

    name = name("Part of its address.", required=False)
    title = words(200, "What readers see.")
    description = words(LONGEST_DESCRIPTION, "One or two sentences for readers.")
    feeds = serializers.ListField(
        child=StrictInteger(),
        min_length=1,
        max_length=MOST_FEEDS,
        required=False,
        help_text="The ids of its feeds.",
    )
    channel = Text(
        max_length=20, required=False, help_text="Such as email; `/api/v1/channels` lists all that there are."
    )
    stopped = Flag(required=False, help_text="Takes no new posts; what is being collected still goes out.")
    arrangement = Choice(choices=Subscribable.Arrangement.choices, required=False)
    n = number(MAX_N, "every_n: how many posts make a letter.")
    max_wait_days = number(MAX_WAIT_DAYS, "every_n: not waiting longer than this.")
    at = Clock(required=False, help_text="daily, weekly, monthly: the hour, such as 07:00.")
    weekday = Weekday(required=False, help_text="weekly: the day.")
    weekdays = serializers.ListField(
        child=Weekday(),
        min_length=1,
        max_length=7,
        required=False,
        help_text="weekly: one or several days, in place of weekday. Several are kept as a cron line.",
    )
    day_of_month = StrictInteger(
        min_value=1, max_value=31, required=False, help_text="monthly: 29 to 31 mean the last day."
    )
    cron = words(200, "cron: minute hour day month weekday, such as “0 7 * * 1,4”.")
    time_zone = Text(max_length=64, required=False, help_text="Such as America/New_York.")
    grace_minutes = StrictInteger(max_value=MAX_GRACE, required=False)
    approval = Choice(choices=Subscribable.Approval.choices, required=False)
    approval_minutes = number(LONGEST_APPROVAL, "delay: it goes out after so many minutes.")
    post_order = Choice(choices=Subscribable.PostOrder.choices, required=False)
    max_posts = number(10_000, "Posts in full; the others are mentioned. null: all in full.")
    hooks = words(200, "A Python module with code of your own; it must be in HOOK_MODULES.")
    visibility = Choice(choices=Subscribable.Visibility.choices, required=False)
    sign_up = Choice(choices=Subscribable.SignUp.choices, required=False)
    welcome = Choice(choices=Subscribable.Welcome.choices, required=False)
    farewell_mail = Flag(required=False)
    embed_hosts = words(5000, "Your sites that may show its form, one to a line.")
    challenge = Flag(required=False)
    keep_ip = Flag(required=False)
    offers_devices = Flag(required=False, help_text="Its page offers notifications on devices.")
    language = language("Of the letters, such as en.")
    from_email = words(320, "Such as “Name <a@example.org>”.")
    reply_to = words(320)
    template = words(64, "A letter template; empty: the usual one.")
    options = Texts(longest=2000, most=20, required=False, help_text="What the channel needs besides.")
    params = Texts(
        longest=2000,
        most=MAX_PARAMS,
        required=False,
        help_text=f"Each is a %Field% in templates, {MAX_PARAMS} at most. Replaces those it had.",
    )


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
        help_text="The channel’s own fields: for e-mail `email` and, if you like, `name`.",
    )
    confirmed = Flag(
        default=False,
        required=False,
        help_text="They have agreed already, and you can prove it. Otherwise they are asked by mail.",
    )
    language = language("Of what is mailed to them besides letters.")
    tags = tags_field("They belong to the person, whatever newsletters they get. Added to those they have.")


class AddSubscriptions(Fields):
    """Who shall get what, several at once."""

    subscriptions = serializers.ListField(child=AddSubscription(), min_length=1, max_length=MOST_AT_ONCE)


class ChangeSubscription(Fields):
    """Left out, it stays as it is."""

    name = words(LONGEST_NAME, "How letters address them.")
    language = language("Of what is mailed to them besides letters.")
    tags = tags_field("They belong to the person, whatever newsletters they get. Replace those they had.")


class PauseSubscription(Fields):
    """How long."""

    until = Day(help_text="The day on which letters come again, on the newsletter’s clock.")


class ChangeSite(Fields):
    """Left out, it stays as it is; an empty text is the usual."""

    name = words(100, "What readers know the whole by; empty: the domain.")
    about = words(300, "A sentence under the name, above the list of newsletters.")
    logo_says_name = Flag(required=False, help_text="The name is in the logo, and does not stand beside it.")
    accent = words(7, "All colours are made of it, such as #1a5fb4; a newsletter may have its own.")
    imprint_url = words(500, "The address of who is behind it.")
    privacy_url = words(500, "The address of what is done with readers’ data.")


class DisableDestination(Fields):
    """Nothing is needed."""

    reason = Text(max_length=1000, required=False, help_text="Shown in the admin; usually “by hand”.")
