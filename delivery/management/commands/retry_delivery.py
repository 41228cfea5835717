"""`retry_delivery ID`: queues a delivery again, due now."""

from typing import Any

from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from delivery.issues.retry import retry_delivery
from delivery.management.rows import add_delivery, delivery_row, find_delivery


class Command(FeedletterCommand):
    help = "Tries a delivery again that failed, is held, was cancelled or waits."
    shared_options = (add_delivery,)

    def run(self, **options: Any) -> Result:
        retry_delivery(delivery=find_delivery(options["id"]), now=utcnow())
        return delivery_row(find_delivery(options["id"]))
