"""`drop_subscribable NAME [--force]`: deletes a newsletter."""

from typing import Any

from django.core.management.base import CommandParser

from common.clock import utcnow
from common.commands import FeedletterCommand, Result, Told
from subscriptions.management.options import add_newsletter, find_subscribable
from subscriptions.services.dropping import Refused, drop_subscribable


class Command(FeedletterCommand):
    help = "Deletes a newsletter with its issues. Refuses while it has subscribers, unless forced."
    mistakes = (Refused,)

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
        return Told(said, {"name": options["newsletter"], "message": said})
