"""`list_deliveries`: what was sent to whom, and what was not."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import add_paging, page
from common.cli.commands import FeedletterCommand, Result
from delivery.management.rows import delivery_row
from delivery.models import Delivery


class Command(FeedletterCommand):
    help = "Lists deliveries: one for each message to each address or account."
    empty = "There are no such deliveries."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("--state", choices=Delivery.State.values, help="Only those in this state.")
        add_paging(parser)

    def run(self, **options: Any) -> Result:
        rows = Delivery.objects.select_related("destination").defer("context")
        if options["state"]:
            rows = rows.filter(state=options["state"])
        return (delivery_row(row) for row in page(rows, options))
