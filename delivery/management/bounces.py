import asyncio
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from common.cli.commands import FeedletterCommand, Printed, Result, argument
from common.clock import utcnow
from common.text import pluralize
from delivery.bounces.sources import collect_bounces, most_bytes, take_mail

# sysexits.h: the mail server keeps the message and tries again. With any other error it would be lost.
TRY_AGAIN = 75


class HandleBounce(FeedletterCommand):
    help = "Reads a bounced or unsubscribe email from standard input: for a mail server's pipe."
    arguments = (
        argument(
            "--recipient", default="", metavar="ADDRESS", help="Whom it was sent to, from the envelope."
        ),
    )

    def run(self, **options: Any) -> Result:
        raw = sys.stdin.buffer.read(most_bytes())
        if not raw.strip():
            raise CommandError("Standard input was empty: pipe an email into this command.")
        taken = take_mail(raw=raw, now=utcnow(), recipient=options["recipient"][:1000])
        facts = {"kind": taken.kind, "effect": taken.effect, "id": taken.bounce and taken.bounce.pk}
        return Printed(f"{taken.kind}: {taken.effect}", facts)

    def _exit_code(self, argv: list[str]) -> int:
        try:
            return TRY_AGAIN if super()._exit_code(argv) else 0
        except Exception as error:  # noqa: BLE001 - none may lose the mail
            self.stderr.write(f"{type(error).__name__}: {error}")
            return TRY_AGAIN


class Lmtp(FeedletterCommand):
    help = "Takes bounces, unsubscribe emails and newsletters for readers by LMTP, until it is stopped."
    arguments = (
        argument(
            "--listen",
            default="127.0.0.1:2424",
            metavar="PLACE",
            help="unix:/path of a socket, or an address of this machine.",
        ),
    )

    def run(self, **options: Any) -> Result:
        from delivery.bounces.lmtp import checked_place, serve

        if not settings.BOUNCE_DOMAIN:
            raise CommandError("BOUNCE_DOMAIN is not set: there are no addresses to take mail for.")
        asyncio.run(serve(checked_place(options["listen"]), ready=self.say))
        return Printed("Stopped.", {})

    def say(self, place: str) -> None:
        self.stdout.write(f"Listening on {place}.")
        self.stdout.flush()


class ReadBounces(FeedletterCommand):
    help = "Reads bounced emails from the mailbox (BOUNCE_URL), or says what is wrong with it."

    def run(self, **options: Any) -> Result:
        if not settings.BOUNCE_URL:
            raise CommandError("BOUNCE_URL is not set: there is no mailbox to read.")
        with self.progress("reading"):
            counts = collect_bounces(clock=utcnow)
        kinds = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in sorted(counts.items()))
        said = f"{pluralize(counts.total(), 'email')} read{': ' if kinds else ''}{kinds}."
        return Printed(said, dict(counts))
