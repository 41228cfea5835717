from typing import Any

from common.cli.commands import FeedletterCommand, Printed, Result
from common.text import pluralize
from reader.entries.place import place_due


class Command(FeedletterCommand):
    help = "Puts what feeds brought into the channels that follow them."

    def run(self, **options: Any) -> Result:
        with self.progress("placing"):
            placed = place_due()
        return Printed(f"{pluralize(placed, 'post')} brought up to date.", {"placed": placed})
