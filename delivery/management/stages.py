from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from common.admin.html import when
from common.cli.commands import FeedletterCommand, Printed, Result, TableRow, argument, table_lines
from common.clock import utcnow
from common.program import MANAGE
from common.text import pluralize
from delivery.engine.claim import AlreadyOpen, begin, go, held_issues, is_open
from delivery.engine.send_pass import Wait, letters_put_off, resting, send_due
from delivery.issues.complete import complete_due
from delivery.issues.pause import cancel_issue, make_collections_due, make_deliveries_due
from delivery.issues.send_series import send_series
from delivery.privacy.retention import prunable, prune_old_data
from feeds.models import Feed, Item
from feeds.polling.poll import poll_due
from subscriptions.collections.assign import assign_final
from subscriptions.collections.readiness import make_feeds_due

WAITS_SHOWN = 10
MOST_ROUNDS = 1000
MOST_DAYS = 36_500
# As the parts are called in delivery.privacy.retention.
WORDS = {
    "attempts": "failed attempt",
    "issues": "issue’s text",
    "mails": "email’s contents",
    "mailbox": "email kept in the mailbox",
    "bounces": "bounce",
    "calls": "call of a webhook",
}
PLURALS = {
    "issues": "issues’ texts",
    "mails": "emails’ contents",
    "mailbox": "emails kept in the mailbox",
    "calls": "calls of webhooks",
}
NEXT = f"""Next:

1. Start the service. It reads feeds and makes issues as usual, and holds them, too.
2. Look at what is held: {MANAGE} after_restore --show, or the admin's first page.
3. Cancel issues that subscribers already have: {MANAGE} after_restore --cancel-issue ID.
   Posts that a feed holds: Admin → Feeds → held for you; send or exclude them.
4. Send the rest: {MANAGE} after_restore --go"""


def tell_waits(command: FeedletterCommand, waits: Sequence[Wait]) -> None:
    """Adds a remark for each of them beside the result."""
    for wait in waits[:WAITS_SHOWN]:
        again = f" It is tried again at {when(wait.until)}." if wait.until else ""
        command.note(
            f"Waiting in the lane {wait.lane}, {pluralize(wait.letters, 'email')}: {wait.why}{again}"
        )
    if len(waits) > WAITS_SHOWN:
        command.note(f"and {pluralize(len(waits) - WAITS_SHOWN, 'more reason')}.")


class Complete(FeedletterCommand):
    help = "Makes issues of the collections that are complete, and queues emails of series."
    arguments = (argument("--all", action="store_true", help="Also collections that wait after a failure."),)

    def run(self, **options: Any) -> Result:
        if options["all"]:
            make_collections_due(now=utcnow())
        with self.progress("completing"):
            return {"completed": complete_due(), "series": send_series()}


class Send(FeedletterCommand):
    help = "Sends everything that is due, and prints why something could not be sent."
    arguments = (
        argument("--all", action="store_true", help="Also deliveries that wait after a temporary failure."),
    )

    def run(self, **options: Any) -> Result:
        if options["all"]:
            make_deliveries_due(now=utcnow())
        with self.progress("sending"):
            report = send_due()
        rests = resting(utcnow())
        waits = [*rests, *letters_put_off(report, rests)]
        counts = {name: getattr(report, name) for name in ("sent", "stored", "failed", "deferred")}
        if options["json"]:
            counts["waits"] = [asdict(wait) for wait in waits]
        else:
            tell_waits(self, waits)
        if rests and not report.sent and not report.stored:
            self.show(counts, as_json=options["json"])
            raise CommandError(f"Nothing could be sent. {rests[0].why}")
        return counts


class RunOnce(FeedletterCommand):
    help = "Does everything that is due, once: for cron, or to try a feed out."
    arguments = (argument("--all", action="store_true", help="Read every feed; end every back-off."),)

    def run(self, **options: Any) -> Result:
        # A feed whose newsletter's period has ended is due now; asked first, because no feed is read twice.
        make_feeds_due(now=utcnow())
        if options["all"]:
            make_collections_due(now=utcnow())
            make_deliveries_due(now=utcnow())
        with self.progress("polling"):
            polled = poll_due(ignore_due=options["all"], by_command=True)
        with self.progress("assigning and completing"):
            assigned, completed = collect()
            send_series()
        with self.progress("sending"):
            report = send_due()
        if report.stored:
            self.note(
                f"Kept in the mailbox, not sent: {pluralize(report.stored, 'email')}."
                " Set up email in the admin, or set EMAIL_URL, to send."
            )
        rests = resting(utcnow())
        tell_waits(self, [*rests, *letters_put_off(report, rests)])
        return {
            "polled": len(polled),
            "assigned": assigned,
            "completed": completed,
            "sent": report.sent,
            "stored": report.stored,
            "failed": report.failed,
        }


def collect() -> tuple[int, int]:
    """Assigns and completes in turns: every n may fill more than one letter. Returns both counts."""
    assigned = completed = 0
    for _ in range(MOST_ROUNDS):
        more = assign_final(), complete_due()
        assigned, completed = assigned + more[0], completed + more[1]
        if not any(more):
            break
    return assigned, completed


class Prune(FeedletterCommand):
    help = "Forgets attempts, texts and contents of what was finished long ago. The ledger’s rows stay."
    arguments = (
        argument(
            "--days", type=int, default=settings.KEEP_DAYS, help="Older data is deleted. Usually KEEP_DAYS."
        ),
        argument("--dry-run", action="store_true", help="Only count."),
    )

    def run(self, **options: Any) -> Result:
        days = options["days"]
        if not 1 <= days <= MOST_DAYS:
            raise CommandError(f"--days: give a number from 1 to {MOST_DAYS:,}.")
        if options["dry_run"]:
            counts = prunable(now=utcnow(), days=days)
            return Printed(f"Would be forgotten: {listed(counts)}.", counts)
        now = utcnow()
        with self.progress("forgetting", sum(prunable(now=now, days=days).values())) as progress:
            counts = prune_old_data(now=now, days=days, told=progress.advance)
        return Printed(f"Forgotten: {listed(counts)}.", counts)


def listed(counts: Mapping[str, int]) -> str:
    """ "3 failed attempts, 1 issue’s text"."""
    said = [pluralize(count, WORDS[name], PLURALS.get(name, "")) for name, count in counts.items() if count]
    return ", ".join(said) or "nothing"


class AfterRestore(FeedletterCommand):
    help = "After a restore from a backup: holds everything unsent until you decide."

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
                deliveries, posts = begin(now=utcnow())
            except AlreadyOpen as error:
                raise CommandError(f"{error} See {MANAGE} after_restore --show, then --go.") from error
        said = (
            f"Held: {pluralize(deliveries, 'delivery', 'deliveries')} and"
            f" {pluralize(posts, 'post')}. They are not sent until you decide."
        )
        now = shown()
        return Printed(f"{said}\n\n{now.sentence}\n\n{NEXT}", now.facts)

    def go(self) -> Printed:
        if is_open() is None and not held_issues():
            raise CommandError("No restore is open, and no delivery is held.")
        with self.progress("queueing"):
            queued = go(now=utcnow())
        said = f"{pluralize(queued, 'delivery', 'deliveries')} queued: sending continues."
        posts = Item.objects.held().count()
        if posts:
            said += f" {pluralize(posts, 'post')} held by feeds. Decide on them under Admin → Feeds."
        return Printed(said, {"queued": queued, "held_posts": posts})

    def cancel(self, pk: int) -> Printed:
        with self.progress("cancelling"):
            count = cancel_issue(issue_id=pk, now=utcnow())
        said = f"{pluralize(count, 'delivery', 'deliveries')} of issue {pk} cancelled. They will not be sent."
        return Printed(said, {"issue": pk, "cancelled": count})


def shown() -> Printed:
    restore = is_open()
    rows: list[TableRow] = [
        {
            "newsletter": issue.subscribable.name if issue else "",
            "issue": issue.pk if issue else None,
            "title": issue.title if issue else "emails outside issues",
            "made": made,
            "held": count,
        }
        for issue, count, made in held_issues()
    ]
    feeds = Feed.objects.filter(held_since__isnull=False).count()
    posts = Item.objects.held().count()
    facts = {
        "restored_at": restore.begun_at if restore else None,
        "held": rows,
        "held_posts": posts,
        "feeds_with_held_posts": feeds,
    }
    lines = [] if restore else ["No restore is open."]
    lines += table_lines(rows) if rows else ["No delivery is held."]
    if posts:
        lines.append(f"{pluralize(posts, 'post')} held, in {pluralize(feeds, 'feed')}.")
    return Printed("\n".join(lines), facts)
