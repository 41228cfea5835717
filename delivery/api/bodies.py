"""Parameters and request bodies of issues, deliveries, letters and channels."""

from rest_framework import serializers

from common.api.bodies import Fields
from common.api.fields import StrictInteger, Text, Texts
from delivery.issues.broadcasts import MOST_MARKDOWN
from delivery.rendering.subjects import LONGEST_SUBJECT
from subscriptions.api.bodies import name, tags_field, words
from subscriptions.rules.tags import MOST_TAGS_OF_ONE

ANY_OF = "Send only to subscribers with one of these tags. Empty: to everybody."
NONE_OF = "Don’t send to subscribers with one of these tags."


def _others() -> serializers.ListField:
    told = "Names of newsletters whose readers get it, too, each person once."
    return serializers.ListField(child=name(), max_length=MOST_TAGS_OF_ONE, required=False, help_text=told)


class WriteLetter(Fields):
    """A draft: nothing is sent."""

    subscribable = name("The newsletter’s name.")
    subject = words(LONGEST_SUBJECT)
    markdown = words(MOST_MARKDOWN, "CommonMark with tables and %Fields%; html stays text.")
    any_of = tags_field(ANY_OF)
    none_of = tags_field(NONE_OF)
    others = _others()


class ChangeLetter(Fields):
    """Fields that are left out stay as they are."""

    subject = words(LONGEST_SUBJECT)
    markdown = words(MOST_MARKDOWN)
    any_of = tags_field(ANY_OF)
    none_of = tags_field(NONE_OF)
    others = _others()
    version = StrictInteger(
        required=False, help_text="The version that you read. 409 if the email was changed since."
    )


class CheckDestination(Fields):
    """A destination that nobody has to keep for it."""

    channel = Text(min_length=1, max_length=20, help_text="As `/api/v1/channels` lists them.")
    to = Texts(longest=5000, most=20, help_text="The channel’s own fields.")
