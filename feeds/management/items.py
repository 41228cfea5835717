from typing import Any

from django.core.management.base import CommandError

from common.cli.arguments import argument, whole
from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from feeds.items.held import include_item
from feeds.models import Item


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
