"""`list_accounts`: the mail accounts besides that of EMAIL_URL, never with their passwords."""

from typing import Any

from common.cli.commands import FeedletterCommand, Result
from delivery.management.lanes import account_row
from delivery.models import Account


class Command(FeedletterCommand):
    help = "Lists the mail accounts besides that of EMAIL_URL, and the newsletters that go out through each."
    empty = "There is none besides that of EMAIL_URL: “add_account” adds one."

    def run(self, **options: Any) -> Result:
        return (account_row(account) for account in Account.objects.mail())
