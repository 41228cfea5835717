"""Accounts of imported bridges. Their services are asked before the transaction."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from common.ports import channels
from common.ports.channels import InvalidDestination, ParsedDestination
from delivery.bridges.connect import is_elsewhere
from migrate_from.records import ImportResult, Line, OldAccount, OldNewsletter
from subscriptions.models import Consent, Destination, OldNumber, Subscribable, Subscription
from subscriptions.rules.sign_up import number_here

# Satisfies the check of required fields, and is never stored.
UNKNOWN = "unknown"
# With what to do about a trouble, or "".
Connection = tuple[ParsedDestination, str]
RECONNECT = "Open the bridge and press Connect again. Its posts wait until then."


def connected(newsletters: Iterable[OldNewsletter]) -> dict[OldAccount, Connection]:
    """Ask the services (network)."""
    return {
        account: _connected(bridge.channel, parsed)
        for bridge in newsletters
        for account in bridge.accounts
        if account.token and not isinstance(parsed := _parsed(bridge.channel, account), str)
    }


def _connected(channel: str, parsed: ParsedDestination) -> Connection:
    try:
        return channels.get(channel).check(parsed), ""
    except InvalidDestination as error:
        return parsed, (f"It could not be connected: {error} {RECONNECT}")


def _parsed(channel: str, account: OldAccount) -> ParsedDestination | str:
    """Return the account, without secrets if its token is unknown, or why it is refused."""
    fields = {**dict(account.fields), account.token_field: account.token or UNKNOWN}
    try:
        parsed = channels.get(channel).parse_destination(fields)
    except InvalidDestination as error:
        return f"{error} Add the bridge by hand."
    return parsed if account.token else replace(parsed, secrets={})


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
        name, parsed = f"{old.name} ({account.old_name[0][:100]})", _parsed(old.channel, account)
        if isinstance(parsed, str):
            yield Line(ImportResult.REFUSED, "bridge", name, parsed)
            continue
        parsed, trouble = connections.get(account, (parsed, ""))
        if not account.token:
            trouble = f"Its token isn’t known. Give feedletter’s secrets file. Or: {RECONNECT}"
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
        if trouble:
            yield Line(ImportResult.CHANGED, "bridge", name, trouble)


def _is_used(number: int) -> bool:
    return (
        Subscription.objects.filter(upstream_id=number).exists()
        or OldNumber.objects.filter(number=number).exists()
    )
