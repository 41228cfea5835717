from typing import Any

from django.core.management.base import CommandError

from common.cli.arguments import add_paging, argument, page, whole
from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from feeds.items.held import include_item
from feeds.management.options import find_feed
from feeds.management.rows import item_row
from feeds.models import Item


class ListItems(FeedletterCommand):
    help = "Lists posts: the state of each, and since when."
    empty = "There are no such posts."
    arguments = (
        argument("--feed", type=whole, metavar="ID", help="Only posts of this feed."),
        argument("--state", choices=Item.State.values, help="Only posts in this state."),
        add_paging,
    )

    def run(self, **options: Any) -> Result:
        items = Item.objects.defer("entry")
        if options["feed"] is not None:
            items = items.filter(feed=find_feed(options["feed"]))
        if options["state"]:
            items = items.filter(state=options["state"])
        return (item_row(item) for item in page(items, options))


class IncludeItem(FeedletterCommand):
    help = "Includes excluded posts: they are sent once they settle. See “list_items --state excluded”."
    arguments = (argument("ids", type=whole, nargs="+", metavar="ID", help="Its number in “list_items”."),)

    def run(self, **options: Any) -> Result:
        keys = list(dict.fromkeys(options["ids"]))
        if missing := set(keys) - set(Item.objects.filter(pk__in=keys).values_list("pk", flat=True)):
            raise CommandError(f"There is no post {min(missing)}. “list_items” lists them.")
        now = utcnow()
        said = {key: include_item(item_id=key, now=now) for key in keys}
        states = dict(Item.objects.filter(pk__in=keys).values_list("pk", "state"))
        return [{"id": key, "state": states[key], "said": said[key]} for key in keys]
