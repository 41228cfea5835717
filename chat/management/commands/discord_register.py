"""`discord_register`: register commands and URLs with Discord."""

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from chat.registration import register
from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow


class Command(FeedletterCommand):
    help = "Set up the Discord bot: check its settings, commands and addresses. Feedletter must be running."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--guild",
            default="",
            metavar="ID",
            help="Register the commands only in this server, to test them.",
        )

    def run(self, **options: Any) -> Result:
        guild = options["guild"]
        if guild and not (guild.isascii() and guild.isdecimal() and 5 <= len(guild) <= 19):
            raise CommandError("--guild: enter the ID of a server, a number of about 18 digits.")
        done = register(guild=guild, now=utcnow())
        message = (
            f"{done.application} is set up: {done.commands} commands, and Discord calls "
            f"{done.endpoint}. {done.what_changed} Add it to a server with "
            f"this link: {done.invite_link}"
        )
        return Printed(message, {**asdict(done), "changed": list(done.changed)})
