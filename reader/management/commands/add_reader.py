"""`add_reader NAME`: lets somebody read here, and prints a key for their client once."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.urls import reverse

from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from reader.people.readers import add_reader
from reader.people.tokens import make_token


class Command(FeedletterCommand):
    help = "Lets somebody read here. The key for their client is printed this once and kept nowhere."
    option_names = {"name": "NAME", "username": "--user"}  # noqa: RUF012

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="Stands in their address, such as ada.")
        parser.add_argument("--user", help="Somebody who can sign in here already, by their user name.")
        parser.add_argument("--client", default="first client", help="What will use the key.")

    def run(self, **options: Any) -> Result:
        now = utcnow()
        reader = add_reader(name=options["name"], username=options["user"] or "", now=now)
        _, key = make_token(reader=reader, client=options["client"], now=now)
        address = settings.SITE_URL + reverse("reader:microsub", args=[reader.slug])
        return {"name": reader.slug, "user": reader.user.get_username(), "microsub": address, "key": key}
