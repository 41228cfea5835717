"""Who gets a letter: the one place that knows. Today that is everybody who is confirmed.

A letter and its issue each keep their `audience`; {} is everybody. What narrows it is added here, and to the
form of the letter's page: publishing, late subscribers, welcomes and all counts ask `recipients_of`.
"""

from django.db.models import QuerySet

from common.refused import Refused
from delivery.models import Issue, WrittenLetter
from subscriptions.models import Subscription


class UnknownAudience(Refused):
    """A newer release has chosen readers in a way that this one does not know. Nobody is written to."""


def recipients_of(letter: Issue | WrittenLetter) -> "QuerySet[Subscription]":
    """Who would get it if it were published now. Raises UnknownAudience."""
    _check(letter)
    return readers_of(letter.subscribable_id)


def readers_of(newsletter_id: int) -> "QuerySet[Subscription]":
    """Who would get an issue of its posts if it were published now."""
    return Subscription.objects.reachable().filter(subscribable=newsletter_id)


def audience_words(letter: Issue | WrittenLetter) -> str:
    """Whom it is for, to follow “to”. Raises UnknownAudience."""
    _check(letter)
    return "everybody who is confirmed"


def _check(letter: Issue | WrittenLetter) -> None:
    if letter.audience:
        raise UnknownAudience(
            f"“{letter}” is for some of its newsletter’s readers, chosen in a way that this release does "
            "not know. Run the release that it was made with."
        )
