from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result
from common.text import pluralize
from feeds.hubs.pushes import read_pushes
from feeds.polling.poll import poll_due
from feeds.polling.record import PollResult


class Command(FeedletterCommand):
    help = "Reads the feeds that are due, each once."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--all", action="store_true", help="Read every feed that is not paused or stopped."
        )

    def run(self, **options: Any) -> Result:
        with self.progress("polling"):
            read_pushes()
            results = poll_due(ignore_due=options["all"], by_command=True)
        failed = [result for result in results if not result.ok]
        facts = {"polled": len(results), "failed": len(failed), "feeds": [asdict(one) for one in results]}
        return Printed("\n".join([summary(results, len(failed)), *map(failure, failed)]), facts)


def summary(results: list[PollResult], failed: int) -> str:
    if not results:
        return "No feed is due. “poll --all” reads them all the same."
    new, changed = sum(one.new for one in results), sum(one.changed for one in results)
    feeds = pluralize(len(results), "feed")
    trouble = f", {pluralize(failed, 'feed')} failed" if failed else ""
    return f"Read {feeds}: {pluralize(new, 'new post')}, {changed} changed{trouble}."


def failure(result: PollResult) -> str:
    return f"Feed {result.feed_id}: {result.error}"
