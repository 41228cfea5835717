from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.arguments import whole
from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from feeds.items.held import include_item
from feeds.models import Item


class Command(FeedletterCommand):
    help = (
        "Makes excluded posts new again: they settle, and go out. “list_items --state excluded” shows them."
    )

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("ids", type=whole, nargs="+", metavar="ID", help="What “list_items” shows.")

    def run(self, **options: Any) -> Result:
        keys = list(dict.fromkeys(options["ids"]))
        if missing := set(keys) - set(Item.objects.filter(pk__in=keys).values_list("pk", flat=True)):
            raise CommandError(f"There is no post {min(missing)}. “list_items” shows those there are.")
        now = utcnow()
        said = {key: include_item(item_id=key, now=now) for key in keys}
        states = dict(Item.objects.filter(pk__in=keys).values_list("pk", "state"))
        return [{"id": key, "state": states[key], "said": said[key]} for key in keys]
