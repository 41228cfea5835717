from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import find, whole
from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from reader.management.rows import found_reader, token_row
from reader.people.tokens import make_token, revoke_token
from reader.rules.scopes import SCOPES


class Command(FeedletterCommand):
    help = "Makes a key for another client of a reader's, lists their keys, or revokes one."
    option_names = {"client": "--client", "scopes": "--scope"}  # noqa: RUF012

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="The reader.")
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--client", help="A new key, for this client.")
        what.add_argument("--list", action="store_true", help="Their keys.")
        what.add_argument("--revoke", type=whole, metavar="ID", help="The key of this number ends.")
        parser.add_argument(
            "--scope", action="append", choices=SCOPES, help="What it may do; left out, everything."
        )
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
