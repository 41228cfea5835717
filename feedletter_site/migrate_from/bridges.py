"""Accounts of imported bridges. Their services are asked before the transaction."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from common.ports import channels
from common.ports.channels import InvalidDestination, ParsedDestination
from delivery.bridges.connect import is_elsewhere
from migrate_from.records import ImportResult, Line, OldAccount, OldNewsletter
from subscriptions.models import Consent, Destination, OldNumber, Subscribable, Subscription
from subscriptions.rules.invitations import number_here

# Satisfies the check of required fields, and is never stored.
UNKNOWN = "unknown"
RECONNECT = "Open the bridge and press Connect again. Its posts wait until then."


@dataclass(frozen=True, slots=True)
class Connection:
    """`trouble` says what to do."""

    parsed: ParsedDestination
    trouble: str = ""


def connected(newsletters: Iterable[OldNewsletter]) -> dict[OldAccount, Connection]:
    """Ask the services (network)."""
    return {
        account: _connected(bridge.channel, account)
        for bridge in newsletters
        for account in bridge.accounts
        if account.token and not refusal_of(bridge, account)
    }


def _connected(channel: str, account: OldAccount) -> Connection:
    parsed = parsed_account(channel, account)
    try:
        return Connection(channels.get(channel).check(parsed))
    except InvalidDestination as error:
        return Connection(parsed, f"It could not be connected: {error} {RECONNECT}")


def parsed_account(channel: str, account: OldAccount) -> ParsedDestination:
    """Raises InvalidDestination."""
    fields = {**dict(account.fields), account.token_field: account.token or UNKNOWN}
    parsed = channels.get(channel).parse_destination(fields)
    return parsed if account.token else replace(parsed, secrets={})


def refusal_of(bridge: OldNewsletter, account: OldAccount) -> str:
    try:
        parsed_account(bridge.channel, account)
    except InvalidDestination as error:
        return f"{error} Add the bridge by hand."
    return ""


def planned_accounts(bridge: OldNewsletter) -> Iterator[Line]:
    for account in bridge.accounts:
        name = f"{bridge.name} ({account.old_name[0][:100]})"
        if refusal := refusal_of(bridge, account):
            yield Line(ImportResult.REFUSED, "bridge", name, refusal)
        elif not account.token:
            words = f"Its token isn’t known. Give feedletter’s secrets file. Or: {RECONNECT}"
            yield Line(ImportResult.CHANGED, "bridge", name, words)


def take_accounts(
    old: OldNewsletter,
    bridge: Subscribable,
    connections: Mapping[OldAccount, Connection],
    *,
    place: int,
    words: str,
    now: datetime,
) -> Iterator[Line]:
    """Create them in the caller's transaction, without any event.

    The number of an account of another database may be in use.
    """
    for account in old.accounts:
        if refusal_of(old, account):
            continue
        unchecked = Connection(parsed_account(old.channel, account))
        connection = connections.get(account, unchecked)
        parsed, name = connection.parsed, f"{old.name} ({account.old_name[0][:100]})"
        facts = {"label": parsed.label, "config": parsed.config, "secrets": parsed.secrets}
        destination, is_new = Destination.objects.get_or_create(
            kind=old.channel, core=parsed.core, defaults={**facts, "added_at": account.added}
        )
        if not is_new and is_elsewhere(destination, parsed):
            why = f"Another account here is called {parsed.core}. Add the bridge by hand."
            yield Line(ImportResult.REFUSED, "bridge", name, why)
            continue
        number = number_here(account.number, place)
        subscription, is_new = Subscription.objects.get_or_create(
            subscribable=bridge,
            destination=destination,
            defaults={
                "status": Subscription.Status.CONFIRMED,
                "added_at": account.added,
                "confirmed_at": account.added,
                "upstream_id": None if _is_used(number) else number,
            },
        )
        if is_new:
            Consent.objects.create(
                subscription=subscription, act=Consent.Act.IMPORTED, at=now, how="list", words=words
            )
        if connection.trouble:
            yield Line(ImportResult.CHANGED, "bridge", name, connection.trouble)


def _is_used(number: int) -> bool:
    return (
        Subscription.objects.filter(upstream_id=number).exists()
        or OldNumber.objects.filter(number=number).exists()
    )
