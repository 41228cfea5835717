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
    help = "Lists who reads here."
    empty = "Nobody reads here yet. Let somebody: add_reader NAME"

    def run(self, **options: Any) -> Result:
        readers = Reader.objects.select_related("user").annotate(
            channel_count=Count("channels", distinct=True), follow_count=Count("channels__follows")
        )
        return (reader_row(row, channels=row.channel_count, follows=row.follow_count) for row in readers)


OF_INVITATIONS = ("days", "mail")


OF_READERS = ("user", "client")


class AddReader(FeedletterCommand):
    help = (
        "Lets somebody read here: at once, with a key for their client, or by a link with which they choose"
        " name and password. Key and link are printed this once and kept nowhere."
    )
    option_names = {"name": "NAME", "username": "--user", "email": "--mail", "days": "--days"}  # noqa: RUF012
    arguments = (
        argument("name", metavar="NAME", help="Stands in their address, such as ada."),
        argument("--user", help="Somebody who can sign in here already, by their user name."),
        argument("--client", help="The client that uses the key; left out, “first client”."),
        argument("--invite", action="store_true", help="Makes a link, and lets in nobody yet."),
        argument("--days", type=positive, help=f"How long the link is good; left out, {USUAL_DAYS}."),
        argument("--mail", metavar="ADDRESS", help="Mails the link there."),
        argument("--max-feeds", type=positive, metavar="N", help="How many feeds they may follow."),
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
    help = "Changes the limits of a reader."
    arguments = (
        argument("name", metavar="NAME", help="The reader."),
        argument(
            "--max-feeds",
            type=whole,
            required=True,
            metavar="N",
            help="How many feeds they may follow; 0: as READER_MAX_FEEDS says.",
        ),
    )

    def run(self, **options: Any) -> Result:
        reader = found_reader(options["name"])
        set_max_feeds(reader=reader, max_feeds=options["max_feeds"] or None)
        return {"name": reader.slug, "max_feeds": reader.max_feeds}


class DropReader(FeedletterCommand):
    help = "Erases a reader: channels, what they follow, marks, keys. Feeds that others follow stay."
    arguments = (
        argument("name", metavar="NAME", help="The reader."),
        argument("--yes", action="store_true", help="It cannot be undone."),
    )

    def run(self, **options: Any) -> Result:
        reader = found_reader(options["name"])
        if not options["yes"]:
            raise CommandError(f"This erases all that {reader} has here, for ever. Repeat it with --yes.")
        drop_reader(reader=reader, now=utcnow())
        return Printed(f"{options['name']} was erased.", {"name": options["name"]})


class ListInvitations(FeedletterCommand):
    help = "Lists the invitations to read here."
    empty = "Nobody was invited so far. Invite somebody: add_reader NAME --invite"

    def run(self, **options: Any) -> Result:
        return map(invitation_row, Invitation.objects.select_related("reader").order_by("pk").iterator())


class RevokeInvitation(FeedletterCommand):
    help = "Takes an invitation back: its link lets nobody in any more."
    arguments = (argument("id", type=whole, metavar="ID", help="Its number, as list_invitations shows it."),)

    def run(self, **options: Any) -> Result:
        hint = "“list_invitations” shows those there are."
        invitation = find(Invitation.objects.all(), "invitation", hint, pk=options["id"])
        if not revoke_invitations(invitations=[invitation.pk], now=utcnow()):
            raise CommandError(f"The invitation for {invitation} was used or taken back already.")
        invitation.refresh_from_db()
        return invitation_row(invitation)


class AppPassword(FeedletterCommand):
    help = "Makes a password for an app that speaks Google Reader's API, lists them, or revokes one."
    option_names = {"app": "--app"}  # noqa: RUF012
    empty = "There is none yet. Make one with: app_password NAME --app phone"

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="The reader.")
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--app", help="A new password, for this app. It is printed this once.")
        what.add_argument("--list", action="store_true", help="Their passwords.")
        what.add_argument("--revoke", type=whole, metavar="ID", help="The password of this number ends.")

    def run(self, **options: Any) -> Result:
        reader, now = found_reader(options["name"]), utcnow()
        if options["list"]:
            return map(app_password_row, reader.app_passwords.order_by("pk"))
        if options["revoke"] is not None:
            hint = "“app_password NAME --list” shows those there are."
            ended = find(reader.app_passwords.all(), "password", hint, pk=options["revoke"])
            return app_password_row(revoke_app_password(password=ended, now=now))
        row, password = make_app_password(reader=reader, app=options["app"], now=now)
        address = settings.SITE_URL + reverse("reader:greader_php", args=[""])
        return {**app_password_row(row), "address": address, "user": reader.slug, "password": password}


class ReaderToken(FeedletterCommand):
    help = "Makes a key for another client of a reader's, lists their keys, or revokes one."
    option_names = {"client": "--client", "scopes": "--scope"}  # noqa: RUF012

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="The reader.")
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--client", help="A new key, for this client.")
        what.add_argument("--list", action="store_true", help="Their keys.")
        what.add_argument("--revoke", type=whole, metavar="ID", help="The key of this number ends.")
        parser.add_argument("--scope", action="append", choices=SCOPES, help="Its scopes; left out, all.")
        parser.add_argument(
            "--source-object",
            action="store_true",
            help="Posts name their feed by an object, which ekster’s client needs.",
        )

    def run(self, **options: Any) -> Result:
        reader, now = found_reader(options["name"]), utcnow()
        if options["list"]:
            return map(token_row, reader.tokens.order_by("pk"))
        if options["revoke"] is not None:
            hint = "“reader_token NAME --list” shows those there are."
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
