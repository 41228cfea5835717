from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.urls import reverse

from common.cli.arguments import positive
from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from reader.people.invitations import USUAL_DAYS, invite
from reader.people.readers import add_reader
from reader.people.tokens import make_token

OF_INVITATIONS = ("days", "mail")
OF_READERS = ("user", "client")


class Command(FeedletterCommand):
    help = (
        "Lets somebody read here: at once, with a key for their client, or by a link with which they choose"
        " name and password. Key and link are printed this once and kept nowhere."
    )
    option_names = {"name": "NAME", "username": "--user", "email": "--mail", "days": "--days"}  # noqa: RUF012

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="Stands in their address, such as ada.")
        parser.add_argument("--user", help="Somebody who can sign in here already, by their user name.")
        parser.add_argument("--client", help="What will use the key; left out, “first client”.")
        parser.add_argument("--invite", action="store_true", help="Makes a link, and lets in nobody yet.")
        parser.add_argument(
            "--days", type=positive, help=f"How long the link is good; left out, {USUAL_DAYS}."
        )
        parser.add_argument("--mail", metavar="ADDRESS", help="Mails the link there.")
        parser.add_argument("--max-feeds", type=positive, metavar="N", help="How many feeds they may follow.")

    def run(self, **options: Any) -> Result:
        wrong = OF_READERS if options["invite"] else OF_INVITATIONS
        if given := [f"--{name}" for name in wrong if options[name] is not None]:
            raise CommandError(f"{given[0]} goes {'not' if options['invite'] else 'only'} with --invite.")
        return self._invite(options) if options["invite"] else self._add(options)

    def _invite(self, options: dict[str, Any]) -> Result:
        invitation, link = invite(
            name=options["name"],
            days=options["days"] or USUAL_DAYS,
            email=options["mail"] or "",
            max_feeds=options["max_feeds"],
            now=utcnow(),
        )
        return {
            "id": invitation.pk,
            "name": invitation.name,
            "link": link,
            "expires_at": invitation.expires_at,
            "mailed_to": options["mail"],
        }

    def _add(self, options: dict[str, Any]) -> Result:
        now = utcnow()
        reader = add_reader(
            name=options["name"], username=options["user"] or "", max_feeds=options["max_feeds"], now=now
        )
        _, key = make_token(reader=reader, client=options["client"] or "first client", now=now)
        address = settings.SITE_URL + reverse("reader:microsub", args=[reader.slug])
        return {"name": reader.slug, "user": reader.user.get_username(), "microsub": address, "key": key}
