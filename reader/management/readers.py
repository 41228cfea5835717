from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.urls import reverse

from common.cli.commands import FeedletterCommand, Result, argument, find, positive, shown_fields, whole
from common.clock import utcnow
from reader.models import AppPassword as AppPasswordRow
from reader.models import Token
from reader.people.invitations import USUAL_DAYS, invite
from reader.people.readers import add_reader
from reader.people.tokens import make_app_password, make_token, revoke
from reader.resources import readers
from reader.rules.parameters import SCOPES

OF_INVITATIONS = ("days", "mail")
OF_READERS = ("user", "client")


class AddReader(FeedletterCommand):
    help = (
        "Add someone to the reader, either now with a key for an app, or by a link where they "
        "choose a name and password. The key or link is printed once and not stored."
    )
    option_names = {"name": "NAME", "username": "--user", "email": "--mail", "days": "--days"}  # noqa: RUF012
    arguments = (
        argument("name", metavar="NAME", help="Used in their address, such as ada."),
        argument("--user", help="User name of an existing account."),
        argument("--client", help="The app that uses the key. Default: “first client”."),
        argument("--invite", action="store_true", help="Create an invitation link instead."),
        argument("--days", type=positive, help=f"How long the link is valid. Default: {USUAL_DAYS}."),
        argument("--mail", metavar="ADDRESS", help="Email the link to this address."),
        argument("--max-feeds", type=positive, metavar="N", help="Maximum number of feeds."),
    )

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


def token_row(token: Token) -> dict[str, Any]:
    return shown_fields(token, "id client client_id scopes made_at last_used_at revoked_at")


def app_password_row(password: AppPasswordRow) -> dict[str, Any]:
    return shown_fields(password, "id app made_at last_used_at revoked_at")


class AppPassword(FeedletterCommand):
    help = "Create, list or revoke passwords for apps that use the Google Reader API."
    option_names = {"app": "--app"}  # noqa: RUF012
    empty = "No app passwords yet. Create one: app_password NAME --app phone"

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="The reader.")
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--app", help="Create a password for this app. It is printed once.")
        what.add_argument("--list", action="store_true", help="Their passwords.")
        what.add_argument("--revoke", type=whole, metavar="ID", help="Revoke the password with this number.")

    def run(self, **options: Any) -> Result:
        reader, now = readers.find(options["name"]), utcnow()
        if options["list"]:
            return map(app_password_row, reader.app_passwords.order_by("pk"))
        if options["revoke"] is not None:
            hint = "Run “app_password NAME --list” to see all app passwords."
            ended = find(reader.app_passwords.all(), "password", hint, pk=options["revoke"])
            return app_password_row(revoke(ended, now=now))
        row, password = make_app_password(reader=reader, app=options["app"], now=now)
        address = settings.SITE_URL + reverse("reader:greader_php", args=[""])
        return {**app_password_row(row), "address": address, "user": reader.slug, "password": password}


class ReaderToken(FeedletterCommand):
    help = "Create, list or revoke keys for Microsub apps."
    option_names = {"client": "--client", "scopes": "--scope"}  # noqa: RUF012

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="The reader.")
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--client", help="Create a key for this app.")
        what.add_argument("--list", action="store_true", help="Their keys.")
        what.add_argument("--revoke", type=whole, metavar="ID", help="Revoke the key with this number.")
        parser.add_argument("--scope", action="append", choices=SCOPES, help="Its scopes; left out, all.")
        parser.add_argument(
            "--source-object",
            action="store_true",
            help="Send the feed of a post as an object, which ekster’s client needs.",
        )

    def run(self, **options: Any) -> Result:
        reader, now = readers.find(options["name"]), utcnow()
        if options["list"]:
            return map(token_row, reader.tokens.order_by("pk"))
        if options["revoke"] is not None:
            hint = "Run “reader_token NAME --list” to see all keys."
            token = find(reader.tokens.all(), "key", hint, pk=options["revoke"])
            return token_row(revoke(token, now=now))
        token, key = make_token(
            reader=reader,
            client=options["client"],
            now=now,
            scopes=options["scope"] or SCOPES,
            source_as_object=options["source_object"],
        )
        return {**token_row(token), "key": key}
