from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.db.models import Count
from django.urls import reverse

from common.cli.arguments import argument, find, positive, whole
from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow
from reader.management.rows import app_password_row, found_reader, invitation_row, reader_row, token_row
from reader.models import Invitation, Reader
from reader.people.app_passwords import make_app_password, revoke_app_password
from reader.people.invitations import USUAL_DAYS, invite, revoke_invitations
from reader.people.readers import add_reader, drop_reader, set_max_feeds
from reader.people.tokens import make_token, revoke_token
from reader.rules.scopes import SCOPES


class ListReaders(FeedletterCommand):
    help = "List the people who use the reader."
    empty = "Nobody uses the reader yet. Add someone: add_reader NAME"

    def run(self, **options: Any) -> Result:
        readers = Reader.objects.select_related("user").annotate(
            channel_count=Count("channels", distinct=True), follow_count=Count("channels__follows")
        )
        return (reader_row(row, channels=row.channel_count, follows=row.follow_count) for row in readers)


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


class AlterReader(FeedletterCommand):
    help = "Change someone’s limits."
    arguments = (
        argument("name", metavar="NAME", help="The reader."),
        argument(
            "--max-feeds",
            type=whole,
            required=True,
            metavar="N",
            help="Maximum number of feeds. 0 uses READER_MAX_FEEDS.",
        ),
    )

    def run(self, **options: Any) -> Result:
        reader = found_reader(options["name"])
        set_max_feeds(reader=reader, max_feeds=options["max_feeds"] or None)
        return {"name": reader.slug, "max_feeds": reader.max_feeds}


class DropReader(FeedletterCommand):
    help = "Delete someone’s channels, followed feeds, marks and keys. Feeds that others follow are kept."
    arguments = (
        argument("name", metavar="NAME", help="The reader."),
        argument("--yes", action="store_true", help="This can’t be undone."),
    )

    def run(self, **options: Any) -> Result:
        reader = found_reader(options["name"])
        if not options["yes"]:
            raise CommandError(f"This permanently deletes all data of {reader}. Run it again with --yes.")
        drop_reader(reader=reader, now=utcnow())
        return Printed(f"{options['name']} was erased.", {"name": options["name"]})


class ListInvitations(FeedletterCommand):
    help = "List the invitations to the reader."
    empty = "No invitations yet. Invite someone: add_reader NAME --invite"

    def run(self, **options: Any) -> Result:
        return map(invitation_row, Invitation.objects.select_related("reader").order_by("pk").iterator())


class RevokeInvitation(FeedletterCommand):
    help = "Revoke an invitation, so that its link no longer works."
    arguments = (
        argument(
            "id", type=whole, metavar="ID", help="Number of the invitation, as shown by list_invitations."
        ),
    )

    def run(self, **options: Any) -> Result:
        hint = "Run “list_invitations” to see all invitations."
        invitation = find(Invitation.objects.all(), "invitation", hint, pk=options["id"])
        if not revoke_invitations(invitations=[invitation.pk], now=utcnow()):
            raise CommandError(f"The invitation for {invitation} was already used or revoked.")
        invitation.refresh_from_db()
        return invitation_row(invitation)


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
        reader, now = found_reader(options["name"]), utcnow()
        if options["list"]:
            return map(app_password_row, reader.app_passwords.order_by("pk"))
        if options["revoke"] is not None:
            hint = "Run “app_password NAME --list” to see all app passwords."
            ended = find(reader.app_passwords.all(), "password", hint, pk=options["revoke"])
            return app_password_row(revoke_app_password(password=ended, now=now))
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
        reader, now = found_reader(options["name"]), utcnow()
        if options["list"]:
            return map(token_row, reader.tokens.order_by("pk"))
        if options["revoke"] is not None:
            hint = "Run “reader_token NAME --list” to see all keys."
            token = find(reader.tokens.all(), "key", hint, pk=options["revoke"])
            return token_row(revoke_token(token=token, now=now))
        token, key = make_token(
            reader=reader,
            client=options["client"],
            now=now,
            scopes=options["scope"] or SCOPES,
            source_as_object=options["source_object"],
        )
        return {**token_row(token), "key": key}
