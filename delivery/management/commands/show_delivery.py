"""`show_delivery ID`: one delivery, with every attempt that did not succeed."""

from typing import Any

from common.cli.commands import FeedletterCommand, Result
from common.cli.tables import cell
from delivery.issues.sent_changes import SentChanges, changed_delivery, changes_of
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
        post, later = changed_delivery(delivery), changes_of([delivery]).get(delivery.pk, SentChanges())
        shown["changes"] = post.pk if post else None
        if options["json"]:
            rows = [{**delivery_row(change), "kind": change.kind} for change in later.every]
            return {**shown, "changed_by": rows, "history": history}
        shown["since then"] = later.words
        lines = {f"at {cell(one['at'])}": f"{one['outcome']}: {one['text']}" for one in history}
        return {**shown, **lines}
