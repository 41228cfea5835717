"""Mail and service accounts: what can be done with them, by a command and the admin.

Lanes: what can be done with them in the admin. The command is “alter_lane”.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

from django.db.models import Q, QuerySet

from channels.account import EMAIL
from channels.email.session import CannotLogIn
from common.clock import utcnow
from common.ports.channels import InvalidDestination
from common.ports.panels import CannotAct
from common.resources import ADMIN, COMMAND, Argument, Resource, verb
from common.text import pluralize
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
from delivery.issues.pause import PAUSED_BY_HAND
from delivery.lanes.limits import pause_domain, pause_lanes, recipient_domain, resume_domain, resume_lanes
from delivery.models import Account, Lane, LaneDomain, ServiceAccount


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


def stopped_domains(lanes: Sequence[Lane]) -> list[tuple[str, str]]:
    """Return domains that are paused, or resting after refusals, as choices."""
    stopped = Q(paused=True) | Q(refused_since__isnull=False, free_at__gt=utcnow())
    names = LaneDomain.objects.filter(stopped, lane__in=lanes).values_list("domain", flat=True)
    return [(name, name) for name in sorted(set(names))]


class Lanes(Resource[Lane]):
    noun = "lane"

    def rows(self) -> "QuerySet[Lane]":
        return Lane.objects.all()

    @verb("Pause", on=(ADMIN,), fits=lambda lane: not lane.paused)
    def pause(self, lane: Lane) -> str:
        pause_lanes(lane_ids=[lane.pk], reason=PAUSED_BY_HAND)
        return f"{lane} is paused. Nothing is sent there until you resume."

    @verb("Resume", on=(ADMIN,), fits=lambda lane: lane.paused or lane.free_at)
    def resume(self, lane: Lane, *, now: datetime) -> str:
        resume_lanes(lane_ids=[lane.pk], now=now)
        return f"{lane} can send again."

    @verb(
        "Pause a domain",
        on=(ADMIN,),
        fits=lambda lane: lane.kind == EMAIL,
        asks=lambda lanes: ["Deliveries to this domain wait until you resume it. Other deliveries continue."],
    )
    def pause_domain(
        self,
        lane: Lane,
        *,
        domain: Annotated[str, Argument("The part after the @, for example gmail.com.")],
        reason: Annotated[
            str,
            Argument(
                "Shown to others, for example “They block us. We filled in their form on Monday.”",
                longest=500,
            ),
        ] = "",
        now: datetime,
    ) -> str:
        domain = recipient_domain(domain)
        if pause_domain(lane_id=lane.pk, domain=domain, reason=reason or PAUSED_BY_HAND, now=now):
            return f"Nothing is sent to {domain} until you resume it."
        return f"{domain} was paused already."

    @verb(
        "Resume a domain",
        on=(ADMIN,),
        fits=lambda lane: bool(stopped_domains([lane])),
        asks=lambda lanes: ["Waiting deliveries to it are sent within the lane’s limits."],
    )
    def resume_domain(
        self, lane: Lane, *, domain: Annotated[str, Argument("", choices=stopped_domains)], now: datetime
    ) -> str:
        queued = resume_domain(lane_id=lane.pk, domain=domain, now=now)
        return f"{domain} resumed; {pluralize(queued, 'delivery', 'deliveries')} queued."


lanes = Lanes()
