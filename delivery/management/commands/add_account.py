"""`add_account NAME`: another mail server or service that newsletters may be sent through."""

import sys
from argparse import ArgumentTypeError
from getpass import getpass
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import find
from common.cli.commands import FeedletterCommand, Result
from delivery.accounts.accounts import add_account, alter_account, make_default
from delivery.management.lanes import account_row
from delivery.models import Account

LONGEST = 4096


def url_file(name: str) -> str:
    try:
        with Path(name).open(encoding="utf-8-sig") as file:
            return file.read(LONGEST).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ArgumentTypeError(f"“{name}” cannot be read: {reason}.") from error


class Command(FeedletterCommand):
    help = (
        "Adds a mail account. Its URL, which holds the password, is asked for, or read from stdin or a file."
    )
    option_names = {"name": "NAME", "url": "--url-file", "sender": "--from"}  # noqa: RUF012

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="a–z, 0–9 and dashes, such as second-server.")
        parser.add_argument(
            "--url-file", type=url_file, dest="url", metavar="FILE", help="Holds a URL like EMAIL_URL's."
        )
        parser.add_argument(
            "--from", dest="sender", metavar="SENDER", help="Such as “Example Letters <letters@example.org>”."
        )
        parser.add_argument(
            "--default",
            action="store_true",
            help="It carries what names no account, unless EMAIL_URL is set.",
        )
        parser.add_argument(
            "--replace", action="store_true", help="Give an account that is there another URL."
        )

    def run(self, **options: Any) -> Result:
        url = options["url"] if options["url"] is not None else asked()
        if options["replace"]:
            hint = "“list_accounts” shows those there are."
            account: Account = find(Account.objects.mail(), "mail account", hint, name=options["name"])
            account = alter_account(account=account, url=url, sender=options["sender"])
        else:
            account = add_account(name=options["name"], url=url, sender=options["sender"] or "")
        if options["default"]:
            make_default(account=account)
        return account_row(account)


def asked() -> str:
    """Typed unseen, or the line piped in: on the command line it would stand in the list of processes."""
    return getpass("URL: ") if sys.stdin.isatty() else sys.stdin.readline(LONGEST).strip()
