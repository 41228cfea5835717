"""`drop_account NAME`: deletes a mail account that nothing uses."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import find
from common.cli.commands import FeedletterCommand, Printed, Result
from delivery.accounts.accounts import drop_account
from delivery.models import Account


class Command(FeedletterCommand):
    help = "Deletes a mail account. Refused while a newsletter uses it, or letters wait to go out through it."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="“list_accounts” shows them.")

    def run(self, **options: Any) -> Result:
        hint = "“list_accounts” shows those there are."
        account: Account = find(Account.objects.mail(), "mail account", hint, name=options["name"])
        drop_account(account=account)
        return Printed(f"The mail account {account.name} was deleted.", {"name": account.name})
