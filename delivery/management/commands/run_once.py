"""`run_once`: poll, assign, complete and send until nothing is due."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from common.text import pluralize
from delivery.engine.send_pass import send_due
from delivery.engine.waits import letters_put_off, resting
from delivery.issues.complete import complete_due
from delivery.issues.retry import make_collections_due, make_deliveries_due
from delivery.management.waits import tell_waits
from feeds.polling.poll import poll_due
from subscriptions.collections.assign import assign_final
from subscriptions.collections.readiness import make_feeds_due

MOST_ROUNDS = 1000


class Command(FeedletterCommand):
    help = "Does everything that is due, once: for cron, or to see a feed become letters."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("--all", action="store_true", help="Read every feed; end every back-off.")

    def run(self, **options: Any) -> Result:
        # A feed whose newsletter's period has ended is due now; asked first, because no feed is read twice.
        make_feeds_due(now=utcnow())
        if options["all"]:
            make_collections_due(now=utcnow())
            make_deliveries_due(now=utcnow())
        with self.progress("polling"):
            polled = poll_due(ignore_due=options["all"], by_command=True)
        with self.progress("assigning and completing"):
            assigned, completed = collect()
        with self.progress("sending"):
            report = send_due()
        if report.stored:
            self.note(
                f"Kept in the mailbox, not sent: {pluralize(report.stored, 'letter')}."
                " Set up mail in the admin, or set EMAIL_URL, to send."
            )
        rests = resting(utcnow())
        tell_waits(self, [*rests, *letters_put_off(report, rests)])
        return {
            "polled": len(polled),
            "assigned": assigned,
            "completed": completed,
            "sent": report.sent,
            "stored": report.stored,
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
