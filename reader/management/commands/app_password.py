from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.urls import reverse

from common.cli.arguments import find, whole
from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from reader.management.rows import app_password_row, found_reader
from reader.people.app_passwords import make_app_password, revoke_app_password


class Command(FeedletterCommand):
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
