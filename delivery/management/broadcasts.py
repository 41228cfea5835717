"""What commands say about letters of one's own, and the argument that names one."""

from typing import Any

from django.core.management.base import CommandParser
from django.db.models import QuerySet

from common.cli.arguments import find, whole
from delivery.issues.audience import audience_words
from delivery.models import Broadcast
from delivery.rules.audience import AUDIENCE_PARTS


def all_letters() -> "QuerySet[Broadcast]":
    return Broadcast.objects.select_related("subscribable")


def add_letter(parser: CommandParser) -> None:
    parser.add_argument("id", type=whole, metavar="ID", help="The number that “list_letters” shows.")


def find_letter(pk: int) -> Broadcast:
    found: Broadcast = find(all_letters(), "letter", "“list_letters” shows those there are.", pk=pk)
    return found


def add_audience(parser: CommandParser) -> None:
    """Adds the options that say whom a letter is for; None where they are left out."""
    parser.add_argument(
        "--tag",
        dest="any_of",
        action="append",
        metavar="TAG",
        help="Only to who has this tag; of several, one of them.",
    )
    parser.add_argument(
        "--not-tag",
        dest="none_of",
        action="append",
        metavar="TAG",
        help="Not to who has this tag; of several, one of them.",
    )
    parser.add_argument(
        "--also",
        dest="others",
        action="append",
        metavar="NAME",
        help="Also to the readers of this newsletter; who reads several gets it once.",
    )


def named_audience(options: dict[str, Any]) -> dict[str, list[str]]:
    """What was given of them."""
    return {part: options[part] for part in AUDIENCE_PARTS if options[part] is not None}


def letter_row(letter: Broadcast) -> dict[str, Any]:
    """Needs the newsletter selected."""
    return {
        "id": letter.pk,
        "newsletter": letter.subscribable.name,
        "subject": letter.subject,
        "to": audience_words(letter),
        "state": letter.state,
        "send_at": letter.send_at,
        "issue": letter.issue_id,
        "author": letter.author,
        "changed_at": letter.changed_at,
        "last_error": letter.last_error,
    }
