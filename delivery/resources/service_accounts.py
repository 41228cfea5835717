"""Service accounts: what can be done with them in the admin."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import QuerySet

from common.ports.channels import InvalidDestination
from common.ports.panels import CannotAct
from common.resources import ADMIN, Resource, verb
from delivery.accounts.accounts import alter_service_account, drop_service_account, why_account_needed
from delivery.models import ServiceAccount


def asks_to_drop(accounts: Sequence[ServiceAccount]) -> list[str]:
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

    @verb("Delete", on=(ADMIN,), asks=asks_to_drop, is_harmful=True, permission="drop")
    def drop(self, account: ServiceAccount) -> str:
        drop_service_account(account=account)
        return f"{account} is deleted."


service_accounts = ServiceAccounts()
