"""What commands say about letters of one's own, and the argument that names one."""

from typing import Any

from django.core.management.base import CommandParser
from django.db.models import QuerySet

from common.cli.arguments import find, whole
from delivery.models import WrittenLetter


def all_letters() -> "QuerySet[WrittenLetter]":
    return WrittenLetter.objects.select_related("subscribable")


def add_letter(parser: CommandParser) -> None:
    parser.add_argument("id", type=whole, metavar="ID", help="The number that “list_letters” shows.")


def find_letter(pk: int) -> WrittenLetter:
    found: WrittenLetter = find(all_letters(), "letter", "“list_letters” shows those there are.", pk=pk)
    return found


def letter_row(letter: WrittenLetter) -> dict[str, Any]:
    """Needs the newsletter selected."""
    return {
        "id": letter.pk,
        "newsletter": letter.subscribable.name,
        "subject": letter.subject,
        "state": letter.state,
        "send_at": letter.send_at,
        "issue": letter.issue_id,
        "author": letter.author,
        "changed_at": letter.changed_at,
        "last_error": letter.last_error,
    }
