"""`send`: sends what is due, within what each lane allows."""

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from delivery.engine.send_pass import send_due
from delivery.engine.waits import letters_put_off, resting
from delivery.issues.retry import make_deliveries_due
from delivery.management.waits import tell_waits


class Command(FeedletterCommand):
    help = "Sends what is due, until nothing is; says why, where something could not be sent."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("--all", action="store_true", help="Also what waits after a temporary failure.")

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
