"""`list_bounces`: what came back, in the servers' words, and what was done."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import add_paging, page
from common.cli.commands import FeedletterCommand, Result
from delivery.models import Bounce


class Command(FeedletterCommand):
    help = "Lists the reports of letters that came back, and of complaints."
    empty = "Nothing has come back."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("--held", action="store_true", help="Only those that wait for you.")
        parser.add_argument("--kind", choices=Bounce.Kind.values, help="Only those of this kind.")
        add_paging(parser)

    def run(self, **options: Any) -> Result:
        rows = Bounce.objects.select_related("destination")
        if options["held"]:
            rows = rows.filter(held=True)
        if options["kind"]:
            rows = rows.filter(kind=options["kind"])
        return (bounce_row(row) for row in page(rows, options))


def bounce_row(row: Bounce) -> dict[str, Any]:
    return {
        "id": row.pk,
        "at": row.at,
        "kind": row.kind,
        "destination": row.destination.label if row.destination else row.recipient,
        "delivery": row.delivery_id,
        "status": row.status,
        "diagnostic": row.diagnostic,
        "effect": row.effect,
        "held": row.held,
    }
