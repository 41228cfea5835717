"""`list_suppressions`: suppressed addresses with reasons."""

from typing import Any

from common.cli.arguments import add_paging, page
from common.cli.commands import FeedletterCommand, Result
from subscriptions.models import Suppression


class Command(FeedletterCommand):
    help = (
        "Shows the list “Do not write”: addresses that nothing is sent to. “lift_suppression” takes one off."
    )
    empty = "Everybody may be written to."
    shared_options = (add_paging,)

    def run(self, **options: Any) -> Result:
        rows = page(Suppression.objects.all(), options)
        return (
            {
                "id": row.pk,
                "kind": row.kind,
                "address": row.core,
                "reason": row.reason,
                "since": row.created_at,
            }
            for row in rows
        )
