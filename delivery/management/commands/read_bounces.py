"""`read_bounces`: reads the mailbox of BOUNCE_URL now."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow
from common.text import pluralize
from delivery.bounces.collect import collect_bounces


class Command(FeedletterCommand):
    help = "Reads the mail that came back (BOUNCE_URL); says what is wrong when it cannot."

    def run(self, **options: Any) -> Result:
        if not settings.BOUNCE_URL:
            raise CommandError("BOUNCE_URL is not set: there is no mailbox to read.")
        with self.progress("reading"):
            counts = collect_bounces(clock=utcnow)
        kinds = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in sorted(counts.items()))
        said = f"{pluralize(counts.total(), 'mail')} read{': ' if kinds else ''}{kinds}."
        return Printed(said, dict(counts))
