"""`run_once`: poll, assign, complete and send until nothing is due."""

from typing import Any

from django.core.management.base import CommandParser

from common.clock import utcnow
from common.commands import FeedletterCommand, Result
from common.text import counted
from delivery.services.completing import complete_due
from delivery.services.hurrying import hurry_collections, hurry_deliveries
from delivery.services.sending import send_due
from feeds.services.polling import poll_due
from subscriptions.services.assigning import assign_final
from subscriptions.services.waiting import hurry_feeds

MOST_ROUNDS = 1000


class Command(FeedletterCommand):
    help = "Does everything that is due, once: for cron, or to see a feed become letters."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("--all", action="store_true", help="Read every feed; end every back-off.")

    def run(self, **options: Any) -> Result:
        # A feed whose newsletter's period has ended is due now; asked first, because no feed is read twice.
        hurry_feeds(now=utcnow())
        if options["all"]:
            hurry_collections(now=utcnow())
            hurry_deliveries(now=utcnow())
        with self.progress("polling"):
            polled = poll_due(ignore_due=options["all"], by_command=True)
        with self.progress("assigning and completing"):
            assigned, completed = collect()
        with self.progress("sending"):
            report = send_due()
        if report.stored:
            self.note(
                f"Kept in the mailbox, not sent: {counted(report.stored, 'letter')}. Set EMAIL_URL to send."
            )
        return {
            "polled": len(polled),
            "assigned": assigned,
            "completed": completed,
            "sent": report.sent,
            "failed": report.failed,
        }


def collect() -> tuple[int, int]:
    """Assigns and completes in turns: every n may fill more than one letter. Returns both counts."""
    assigned = completed = 0
    for _ in range(MOST_ROUNDS):
        more = assign_final(), complete_due()
        assigned, completed = assigned + more[0], completed + more[1]
        if not any(more):
            break
    return assigned, completed
