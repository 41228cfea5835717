"""`send_letter ID`: a letter of one's own goes out, now or at a time; or to one address, to try it."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow
from common.text import pluralize
from delivery.issues.audience import audience_words, count_readers
from delivery.issues.broadcast_issue import letter_text, send_letter
from delivery.issues.broadcasts import schedule_letter, unschedule_letter
from delivery.letters.send_test import send_test_written
from delivery.management.broadcasts import add_letter, find_letter, letter_row
from delivery.management.issue_rows import moment
from delivery.management.rows import delivery_row


class Command(FeedletterCommand):
    help = "Sends a letter of your own to those whom it is for. It becomes an issue."

    def add_options(self, parser: CommandParser) -> None:
        add_letter(parser)
        how = parser.add_mutually_exclusive_group()
        how.add_argument(
            "--at", type=moment, metavar="TIME", help="Not now, but then: 2026-03-01T07:00+01:00."
        )
        how.add_argument("--count", action="store_true", help="Only say to how many it would go now.")
        how.add_argument("--undo", action="store_true", help="Take a scheduled one off the schedule.")
        how.add_argument("--test", metavar="ADDRESS", help="Only to this address, marked as a test.")

    def run(self, **options: Any) -> Result:
        letter, now = find_letter(options["id"]), utcnow()
        if options["count"]:
            count, every = count_readers(letter)
            said = f"{count:,} of {pluralize(every, 'subscriber')}: {audience_words(letter)}"
            return Printed(said, {"count": count, "of": every, "to": audience_words(letter)})
        if options["test"]:
            test = send_test_written(
                subscribable=letter.subscribable, text=letter_text(letter), to=options["test"], now=now
            )
            return Printed(f"A test is on its way to {test.destination}.", delivery_row(test))
        if options["undo"]:
            unschedule_letter(letter_id=letter.pk)
        elif options["at"]:
            schedule_letter(letter_id=letter.pk, at=options["at"], version=letter.version, now=now)
        else:
            send_letter(letter_id=letter.pk, version=letter.version, now=now)
        return letter_row(find_letter(letter.pk))
