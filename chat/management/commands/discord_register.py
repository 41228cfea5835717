"""`discord_register`: register commands and URLs with Discord."""

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from chat.registration import register
from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow


class Command(FeedletterCommand):
    help = (
        "Sets up the Discord bot: checks its settings, its commands, our addresses. Run it while we are up."
    )

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--guild", default="", metavar="ID", help="Put the commands into that server only, to try them."
        )

    def run(self, **options: Any) -> Result:
        guild = options["guild"]
        if guild and not (guild.isascii() and guild.isdecimal() and 5 <= len(guild) <= 19):
            raise CommandError("--guild: give the id of a server, a number of about 18 digits.")
        done = register(guild=guild, now=utcnow())
        changed = f"Changed: {', '.join(done.changed)}." if done.changed else "All of it was so already."
        message = (
            f"{done.application} is set up: {done.commands} commands, and Discord calls {done.endpoint}."
            f" {changed}\n"
            f"Servers add it by this link:\n{done.invite_link}"
        )
        return Printed(message, {**asdict(done), "changed": list(done.changed)})
