"""`show_delivery ID`: one delivery, with every attempt that did not succeed."""

from typing import Any

from common.cli.commands import FeedletterCommand, Result
from common.cli.tables import cell
from delivery.management.rows import add_delivery, delivery_row, find_delivery

MOST_ATTEMPTS = 50


class Command(FeedletterCommand):
    help = "Shows a delivery and the attempts that did not succeed, in the server's words."
    shared_options = (add_delivery,)

    def run(self, **options: Any) -> Result:
        delivery = find_delivery(options["id"])
        history = [
            {"at": attempt.at, "outcome": attempt.outcome, "text": attempt.text}
            for attempt in delivery.attempt_rows.all()[:MOST_ATTEMPTS]
        ]
        shown = {
            **delivery_row(delivery),
            "kind": delivery.kind,
            "newsletter": delivery.issue.subscribable.name if delivery.issue else None,
            "created_at": delivery.created_at,
        }
        if options["json"]:
            return {**shown, "history": history}
        lines = {f"at {cell(one['at'])}": f"{one['outcome']}: {one['text']}" for one in history}
        return {**shown, **lines}
