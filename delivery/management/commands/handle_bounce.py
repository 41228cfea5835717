"""`handle_bounce`: takes one mail to BOUNCE_DOMAIN from standard input: a bounce, or a reader who leaves."""

import sys
from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow
from delivery.bounces.collect import take_mail
from delivery.bounces.parsing import MAX_MAIL_BYTES

# sysexits.h: the mail server keeps the message and tries again. With any other error it would be lost.
TRY_AGAIN = 75


class Command(FeedletterCommand):
    help = "Takes a mail that came back, or from who leaves, from standard input: for a mail server's pipe."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--recipient", default="", metavar="ADDRESS", help="Whom it was sent to, from the envelope."
        )

    def run(self, **options: Any) -> Result:
        raw = sys.stdin.buffer.read(MAX_MAIL_BYTES)
        if not raw.strip():
            raise CommandError("Nothing came by standard input: pipe a mail into this command.")
        taken = take_mail(raw=raw, now=utcnow(), recipient=options["recipient"][:1000])
        facts = {"kind": taken.kind, "effect": taken.effect, "id": taken.bounce and taken.bounce.pk}
        return Printed(f"{taken.kind}: {taken.effect}", facts)

    def _exit_code(self, argv: list[str]) -> int:
        try:
            return TRY_AGAIN if super()._exit_code(argv) else 0
        except Exception as error:  # noqa: BLE001 - none may lose the mail
            self.stderr.write(f"{type(error).__name__}: {error}")
            return TRY_AGAIN
