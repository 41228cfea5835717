"""`send_test_email --to A`: a short message, sent at once, to see whether mail goes out."""

from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow
from delivery.engine.send_pass import send_due
from delivery.letters.send_test import send_test_email
from delivery.management.rows import delivery_row, find_delivery
from delivery.models import Delivery

PATIENCE = timedelta(seconds=30)
ARRIVED = {
    Delivery.State.SENT: "The test mail to {} was taken by the mail server.",
    Delivery.State.STORED: (
        "The test mail to {} was kept in the mailbox: set up mail in the admin, or set EMAIL_URL."
    ),
}


class Command(FeedletterCommand):
    help = "Sends a short test mail, and says what the mail server answered."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("--to", required=True, metavar="ADDRESS", help="Such as ada@example.org")
        parser.add_argument(
            "--account", default="", metavar="NAME", help="A mail account; else the default one."
        )

    def run(self, **options: Any) -> Result:
        queued = send_test_email(to=options["to"], account=options["account"], now=utcnow())
        with self.progress("sending"):
            send_due(budget=PATIENCE)
        delivery = find_delivery(queued.pk)
        if delivery.state not in ARRIVED:
            reason = delivery.last_error or f"it is {delivery.state}"
            account = options["account"] or "the default mail account (Mail set-up, or EMAIL_URL)"
            raise CommandError(
                f"The test mail to {delivery.destination} was not sent: {reason.rstrip('.')}. "
                f"Check {account}; “show_delivery {delivery.pk}” tells how it goes on."
            )
        return Printed(
            ARRIVED[Delivery.State(delivery.state)].format(delivery.destination), delivery_row(delivery)
        )
