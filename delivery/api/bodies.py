"""Parameters and request bodies of issues, deliveries, letters and channels."""

from rest_framework import serializers

from common.api.bodies import Fields
from common.api.fields import Choice, StrictInteger, Text, Texts
from common.api.pagination import ListParameters, search
from delivery.issues.broadcasts import MOST_MARKDOWN
from delivery.models import Delivery
from delivery.models.issue import LETTER_STATES
from delivery.rendering.subjects import LONGEST_SUBJECT
from delivery.rules.progress import STATES
from subscriptions.api.bodies import name, tags_field, words
from subscriptions.rules.tags import MOST_TAGS_OF_ONE


class IssueParameters(ListParameters):
    subscribable = name("The newsletter’s name.", required=False)
    state = Choice(choices=STATES, required=False)
    search = search("Words of its title and posts, or their beginnings; all must be there.")


class DeliveryParameters(ListParameters):
    issue = StrictInteger(required=False, help_text="The issue’s id. Quick.")
    destination = StrictInteger(required=False, help_text="The address’s id. Quick.")
    subscription = StrictInteger(required=False, help_text="The subscription’s id. Quick.")
    state = Choice(
        choices=Delivery.State.values,
        required=False,
        help_text="Quick together with `issue`; else all of the ledger is looked through.",
    )
    kind = Choice(
        choices=Delivery.Kind.values,
        required=False,
        help_text="Quick together with `destination`; else all of the ledger is looked through.",
    )


class LetterParameters(ListParameters):
    subscribable = name("The newsletter’s name.", required=False)
    state = Choice(choices=LETTER_STATES, required=False)


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
