"""Mail and service accounts: what can be done with them, by a command and the admin."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from channels.email.session import CannotLogIn
from common.ports.channels import InvalidDestination
from common.ports.panels import CannotAct
from common.resources import ADMIN, COMMAND, Resource, verb
from delivery.accounts.accounts import (
    alter_service_account,
    drop_account,
    drop_service_account,
    newsletters_of,
    server_of,
    try_login,
    why_account_needed,
    why_needed,
)
from delivery.models import Account, ServiceAccount


def asks_about_accounts(accounts: Sequence[Account]) -> list[str]:
    return [
        why_needed(row) or f"{row} and its password will be deleted. Nothing uses it." for row in accounts
    ]


class Accounts(Resource[Account]):
    noun = "mail account"
    plural = "accounts"
    key = "name"
    list_help = "List mail accounts other than EMAIL_URL, and the newsletters that use each."
    empty = "There is none but EMAIL_URL: “add_account” adds one."

    def rows(self) -> "QuerySet[Account]":
        return Account.objects.mail()

    def shown(self, row: Account) -> Mapping[str, Any]:
        """Return an account without its URL, which holds the password."""
        return {
            "name": row.name,
            "server": server_of(row),
            "sender": row.sender,
            "default": row.is_default,
            "newsletters": [newsletter.name for newsletter in newsletters_of(row)],
            "created_at": row.created_at,
        }

    @verb("Test sign-in", on=(ADMIN,))
    def log_in(self, account: Account) -> str:
        try:
            return try_login(account)
        except CannotLogIn as error:
            raise CannotAct(f"{account}: {error}") from error

    @verb(
        "Delete",
        command="drop_account",
        on=(COMMAND, ADMIN),
        asks=asks_about_accounts,
        is_harmful=True,
        permission="drop",
        deletes=(204,),
    )
    def drop(self, account: Account) -> str:
        """Delete a mail account. Refused while a newsletter uses it or emails wait for it."""
        drop_account(account=account)
        return f"The mail account {account.name} was deleted."


accounts = Accounts()


def asks_to_drop_service(accounts: Sequence[ServiceAccount]) -> list[str]:
    return [
        why_account_needed(row) or f"{row} and its secrets will be forgotten. Nothing uses it."
        for row in accounts
    ]


class ServiceAccounts(Resource[ServiceAccount]):
    noun = "service account"

    def rows(self) -> "QuerySet[ServiceAccount]":
        return ServiceAccount.objects.all()

    @verb("Ask the service", on=(ADMIN,))
    def ask(self, account: ServiceAccount, *, now: datetime) -> str:
        try:
            asked = alter_service_account(account=account, values={}, now=now)
        except InvalidDestination as error:
            raise CannotAct(f"{account}: {error}") from error
        return f"Connected as {asked.label or asked}."

    @verb("Delete", on=(ADMIN,), asks=asks_to_drop_service, is_harmful=True, permission="drop")
    def drop(self, account: ServiceAccount) -> str:
        drop_service_account(account=account)
        return f"{account} is deleted."


service_accounts = ServiceAccounts()
