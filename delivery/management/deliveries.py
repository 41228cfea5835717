from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import add_paging, argument, find, page, whole
from common.cli.commands import FeedletterCommand, Printed, Result
from common.cli.tables import cell, fields_of, record
from common.clock import utcnow
from delivery.issues.item_fate import fate_of, places_of
from delivery.issues.sent_changes import SentChanges, changed_delivery, changes_of
from delivery.models import Delivery
from delivery.resources.deliveries import deliveries, delivery_row
from feeds.management.rows import item_row
from feeds.models import Item


def add_delivery(parser: CommandParser) -> None:
    parser.add_argument("id", type=whole, metavar="ID", help="The number that “list_deliveries” shows.")


def find_delivery(pk: int) -> Delivery:
    found: Delivery = find(deliveries.rows(), "delivery", "“list_deliveries” lists them.", pk=pk)
    return found


class ListDeliveries(FeedletterCommand):
    help = "Lists deliveries: one for each message to each address or account."
    empty = "There are no such deliveries."
    arguments = (
        argument("--state", choices=Delivery.State.values, help="Only those in this state."),
        add_paging,
    )

    def run(self, **options: Any) -> Result:
        rows = deliveries.rows()
        if options["state"]:
            rows = rows.filter(state=options["state"])
        return (delivery_row(row) for row in page(rows, options))


MOST_ATTEMPTS = 50


class ShowDelivery(FeedletterCommand):
    help = "Shows a delivery and the attempts that did not succeed, in the server's words."
    arguments = (add_delivery,)

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


class ShowItem(FeedletterCommand):
    help = "Shows a post: in which newsletters it was sent, where it waits, or why it was not sent."
    arguments = (argument("id", type=whole, metavar="ID", help="The number that “list_items” shows."),)

    def run(self, **options: Any) -> Result:
        posts = Item.objects.select_related("feed").defer("entry")
        item = find(posts, "post", "“list_items” lists them.", pk=options["id"])
        now = utcnow()
        facts = {**item_row(item), "reason": item.reason, "fate": fate_of(item, now)}
        places = [fields_of(place, "newsletter state issue until words") for place in places_of(item, now)]
        paint = self.paint()
        page = "\n".join([facts["fate"], "", *record(facts, paint=paint)])
        return Printed(page, {**facts, "newsletters": places})
