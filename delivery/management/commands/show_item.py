"""`show_item ID`: a post, what became of it, and why it was not sent."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import find, whole
from common.cli.commands import FeedletterCommand, Printed, Result
from common.cli.tables import record
from common.clock import utcnow
from delivery.issues.item_fate import fate_of, places_of
from feeds.management.rows import item_row
from feeds.models import Item


class Command(FeedletterCommand):
    help = "Shows a post: in which newsletters it was sent, where it waits, or why it was not sent."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("id", type=whole, metavar="ID", help="The number that “list_items” shows.")

    def run(self, **options: Any) -> Result:
        posts = Item.objects.select_related("feed").defer("entry")
        item = find(posts, "post", "“list_items” shows those there are.", pk=options["id"])
        now = utcnow()
        facts = {**item_row(item), "reason": item.reason, "fate": fate_of(item, now)}
        places = [
            {
                "newsletter": place.newsletter,
                "state": place.state,
                "issue": place.issue,
                "until": place.until,
                "words": place.words,
            }
            for place in places_of(item, now)
        ]
        paint = self.paint()
        page = "\n".join([facts["fate"], "", *record(facts, paint=paint)])
        return Printed(page, {**facts, "newsletters": places})
