"""`prune`: forgets what nobody needs any more, as the daily task does."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow
from common.text import pluralize
from delivery.privacy.retention import prunable, prune_old_data

MOST_DAYS = 36_500
# As the parts are called in delivery.privacy.retention.
WORDS = {
    "attempts": "failed attempt",
    "issues": "issue’s text",
    "mails": "mail’s contents",
    "mailbox": "letter kept in the mailbox",
    "bounces": "bounce",
    "calls": "call of a webhook",
}
PLURALS = {
    "issues": "issues’ texts",
    "mails": "mails’ contents",
    "mailbox": "letters kept in the mailbox",
    "calls": "calls of webhooks",
}


class Command(FeedletterCommand):
    help = "Forgets attempts, texts and contents of what was finished long ago. The ledger’s rows stay."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--days", type=int, default=settings.KEEP_DAYS, help="What is older goes. Usually KEEP_DAYS."
        )
        parser.add_argument("--dry-run", action="store_true", help="Only count.")

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
