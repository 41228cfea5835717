from typing import Any

from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow
from common.text import pluralize
from feedletter_site.migrate_from.confirmations import send_confirmations


class Command(FeedletterCommand):
    help = (
        "Asks people to confirm whose sign-up was imported from feedletter, and whom it never asked. Each is"
        " asked once."
    )

    def run(self, **options: Any) -> Result:
        sent = send_confirmations(now=utcnow())
        return Printed(f"{pluralize(sent, 'confirmation')} will be sent.", {"queued": sent})
