"""`set_extra_params NAME key=value…`: parameters, each a %Field% in templates."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import pairs
from common.cli.commands import FeedletterCommand, Result
from subscriptions.management.options import add_newsletter, find_subscribable
from subscriptions.newsletters.define import set_extra_params


class Command(FeedletterCommand):
    help = "Sets and removes extra parameters of a newsletter, and shows them."
    option_names = {"params": "key=value"}  # noqa: RUF012

    def add_options(self, parser: CommandParser) -> None:
        add_newsletter(parser)
        parser.add_argument("pairs", nargs="*", metavar="key=value")
        parser.add_argument(
            "--remove", nargs="+", default=[], metavar="key", help="Removed before others are set."
        )

    def run(self, **options: Any) -> Result:
        subscribable = find_subscribable(options["newsletter"])
        add = pairs(options["pairs"], "key=value")
        if add or options["remove"]:
            subscribable = set_extra_params(subscribable=subscribable, add=add, remove=options["remove"])
        return {"name": subscribable.name, "params": subscribable.params}
