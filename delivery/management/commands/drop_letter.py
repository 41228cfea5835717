"""`drop_letter ID`: a draft or scheduled letter of one's own is deleted."""

from typing import Any

from common.cli.commands import FeedletterCommand, Printed, Result
from delivery.issues.broadcasts import drop_letter
from delivery.management.broadcasts import add_letter, find_letter, letter_row


class Command(FeedletterCommand):
    help = "Deletes a letter of your own that has not gone out."
    shared_options = (add_letter,)

    def run(self, **options: Any) -> Result:
        letter = find_letter(options["id"])
        row = letter_row(letter)
        drop_letter(letter_id=letter.pk)
        return Printed(f"“{letter}” is deleted.", row)
