"""`drop_subscribable NAME [--force]`: delete a newsletter."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow
from subscriptions.collections.drop import drop_subscribable
from subscriptions.management.options import add_newsletter, find_subscribable


class Command(FeedletterCommand):
    help = "Deletes a newsletter with its issues. Refuses while it has subscribers, unless forced."

    def add_options(self, parser: CommandParser) -> None:
        add_newsletter(parser)
        parser.add_argument(
            "--force",
            action="store_true",
            help="Delete it with its subscribers; what is queued is cancelled.",
        )

    def run(self, **options: Any) -> Result:
        subscribable = find_subscribable(options["newsletter"])
        said = drop_subscribable(subscribable=subscribable, force=options["force"], now=utcnow())
        return Printed(said, {"name": options["newsletter"], "message": said})
