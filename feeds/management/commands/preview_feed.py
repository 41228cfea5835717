from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.arguments import whole
from common.cli.commands import FeedletterCommand, Result
from feeds.items.dry_run import FAILED, DryRun, dry_run, remarks, sentence
from feeds.management.options import find_feed


class Command(FeedletterCommand):
    help = "Asks a feed now and says what a reading would do, without doing it."
    empty = "There are no posts in it."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("id", type=whole, metavar="ID", help="The feed's number; “list_feeds” shows it.")

    def run(self, **options: Any) -> Result:
        feed = find_feed(options["id"])
        with self.progress("reading the feed"):
            run = dry_run(feed_id=feed.pk)
        if run.outcome == FAILED:
            raise CommandError(f"Feed {feed.pk} could not be read: {run.error}")
        if options["json"]:
            return {**facts(run), "items": list(rows(run))}
        for line in (f"{feed}: {sentence(run)}", *remarks(run)):
            self.stdout.write(line)
        if run.more:
            self.note(f"{run.more} more posts are left out.")
        return rows(run)


def facts(run: DryRun) -> dict[str, Any]:
    return {
        "id": run.feed.pk,
        "outcome": run.outcome,
        "http_status": run.status,
        "warnings": list(run.warnings),
        "counts": dict(run.events),
        "left_out": run.more,
    }


def rows(run: DryRun) -> Iterator[dict[str, Any]]:
    for one in run.rows:
        yield {
            "id": one.pk,
            "title": one.title or one.link or one.guid,
            "published": one.published,
            "event": one.event,
            "settles_at": one.settles,
            "sent": one.fate,
            "why": one.why,
        }
