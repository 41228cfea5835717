"""`after_restore`: run after a backup was restored, before the workers start."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result
from common.cli.tables import TableRow, table_lines
from common.clock import utcnow
from common.text import pluralize
from delivery.engine.restore_hold import AlreadyOpen, HeldIssue, begin, go, held_issues, is_open
from delivery.issues.pause import cancel_issue
from feeds.models import Feed, Item

NEXT = """What to do next:

1. Start the service. Feeds are read, and issues are made of what was being collected: all of it is held, too.
2. Look at what is held: manage.py after_restore --show, or the admin's first page.
3. What readers have got already: manage.py after_restore --cancel-issue ID.
   Posts that a feed holds: Admin → Feeds → held for you; send them, or do not.
4. Send the rest: manage.py after_restore --go"""


class Command(FeedletterCommand):
    help = "After a restore from a backup: holds everything unsent until you say go."

    def add_options(self, parser: CommandParser) -> None:
        act = parser.add_mutually_exclusive_group()
        act.add_argument("--show", action="store_true", help="Only show what is held.")
        act.add_argument("--go", action="store_true", help="Send what is held.")
        act.add_argument("--cancel-issue", type=int, metavar="ID", help="Never send the rest of this issue.")

    def run(self, **options: Any) -> Result:
        if options["go"]:
            return self.go()
        if options["cancel_issue"] is not None:
            return self.cancel(options["cancel_issue"])
        if not options["show"]:
            return self.begin()
        return shown()

    def begin(self) -> Printed:
        with self.progress("holding"):
            try:
                held = begin(now=utcnow())
            except AlreadyOpen as error:
                raise CommandError(f"{error} See manage.py after_restore --show, then --go.") from error
        said = (
            f"Held: {pluralize(held.deliveries, 'delivery', 'deliveries')} and"
            f" {pluralize(held.posts, 'post')}. Nothing that was there before goes out until you say so."
        )
        now = shown()
        return Printed(f"{said}\n\n{now.sentence}\n\n{NEXT}", now.facts)

    def go(self) -> Printed:
        if is_open() is None and not held_issues():
            raise CommandError("No restore is open, and nothing is held because of one.")
        with self.progress("queueing"):
            queued = go(now=utcnow())
        said = f"{pluralize(queued, 'delivery', 'deliveries')} queued: sending goes on."
        posts = Item.objects.held().count()
        if posts:
            said += f" {pluralize(posts, 'post')} held by feeds: decide on them under Admin → Feeds."
        return Printed(said, {"queued": queued, "held_posts": posts})

    def cancel(self, pk: int) -> Printed:
        with self.progress("cancelling"):
            count = cancel_issue(issue_id=pk, now=utcnow())
        said = (
            f"{pluralize(count, 'delivery', 'deliveries')} of issue {pk} cancelled: nobody gets it any more."
        )
        return Printed(said, {"issue": pk, "cancelled": count})


def shown() -> Printed:
    """What is held now, for people and for programs."""
    restore, held = is_open(), held_issues()
    rows = [row_of(one) for one in held]
    feeds = Feed.objects.filter(held_since__isnull=False).count()
    posts = Item.objects.held().count()
    facts = {
        "restored_at": restore.begun_at if restore else None,
        "held": rows,
        "held_posts": posts,
        "feeds_with_held_posts": feeds,
    }
    lines = [] if restore else ["No restore is open."]
    lines += table_lines(rows) if rows else ["No delivery is held because of a restore."]
    if posts:
        lines.append(f"{pluralize(posts, 'post')} held, in {pluralize(feeds, 'feed')}.")
    return Printed("\n".join(lines), facts)


def row_of(held: HeldIssue) -> TableRow:
    issue = held.issue
    return {
        "newsletter": issue.subscribable.name if issue else "",
        "issue": issue.pk if issue else None,
        "title": issue.title if issue else "mails that are no issue",
        "made": issue.created_at if issue else held.newest,
        "held": held.count,
    }
