"""Accounts that many destinations share, such as bots, and OAuth applications."""

import logging
from collections.abc import Mapping
from datetime import datetime
from itertools import chain, count

from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from channels.bridge import BridgeSpec
from common.ports import channels
from common.ports.channels import AccountSpec, ChannelSpec, HasAccounts, InvalidDestination, read_fields
from common.secrets import opened
from common.text import pluralize
from delivery.models import Account, Lane, ServiceAccount
from subscriptions.models import Destination, Subscribable

log = logging.getLogger(__name__)

REMEMBERED_SECONDS = 7 * 24 * 3600


def note_refused_call(*, esp: str, reason: str, now: datetime) -> None:
    log.warning("a webhook call of a mail service was refused: %s", reason, extra={"esp": esp})
    cache.set(_key(esp), (now, reason), REMEMBERED_SECONDS)


def last_refused_call(esp: str) -> tuple[datetime, str] | None:
    """Return time and reason of the service's last refused call within a week."""
    known: tuple[datetime, str] | None = cache.get(_key(esp))
    return known


def _key(esp: str) -> str:
    return f"refused-webhook:{esp}"


def account_specs() -> list[AccountSpec]:
    """Return specs of accounts for destinations, and of OAuth applications."""
    kinds = channels.all_kinds()
    shared: list[AccountSpec] = [
        kind for kind in kinds if isinstance(kind, HasAccounts) and kind.account_fields
    ]
    ways = (kind.connect for kind in kinds if isinstance(kind, BridgeSpec))
    return [*shared, *(way for way in ways if way is not None)]


def kinds_with_accounts() -> list[AccountSpec]:
    return [kind for kind in account_specs() if kind.account_fields]


def lacks_account(kind: ChannelSpec) -> bool:
    """Return whether an account has to be added first."""
    needs_one = isinstance(kind, HasAccounts) and bool(kind.account_fields)
    return needs_one and not ServiceAccount.objects.filter(kind=kind.key).exists()


def kind_of_account(key: str) -> AccountSpec:
    """Return the spec of accounts that admins add. Raises InvalidDestination."""
    for kind in account_specs():
        if kind.key == key and not kind.account_fields:
            raise InvalidDestination(
                "Feedletter registered this application. If you delete it, the next bridge "
                "registers a new one."
            )
        if kind.key == key:
            return kind
    raise InvalidDestination("kind: choose a service that uses accounts.")


def add_service_account(*, kind: str, name: str, values: Mapping[str, str], now: datetime) -> ServiceAccount:
    """Create an account. Raises ValidationError, InvalidDestination.

    Asks the service (network).
    """
    secrets, known_as = _checked(kind, values)
    made = ServiceAccount(kind=kind, name=name.strip(), label=known_as, tried_at=now)
    made.secrets = secrets
    made.full_clean(exclude=["secrets"], validate_unique=False)
    try:
        with transaction.atomic():
            made.save(force_insert=True)
    except IntegrityError as error:
        raise ValidationError({"name": "An account with this name already exists."}) from error
    return made


def free_account_name(wanted: str) -> str:
    """Return the name, numbered if it is used."""
    taken = set(Account.objects.filter(name__startswith=wanted).values_list("name", flat=True))
    names = chain((wanted,), (f"{wanted}-{number}" for number in count(2)))
    return next(name for name in names if name not in taken)


def alter_service_account(
    *, account: ServiceAccount, values: Mapping[str, str], now: datetime
) -> ServiceAccount:
    """Change secrets if the service accepts them (network), and wake lanes. Empty values stay.

    Raises InvalidDestination.
    """
    given = {**stored_values(account), **{name: value for name, value in values.items() if value}}
    account.secrets, account.label = _checked(account.kind, given)
    account.tried_at, account.trouble = now, ""
    with transaction.atomic():
        account.save(update_fields=["secrets", "label", "tried_at", "trouble"])
        theirs = Q(account=account.name) | Q(parent__account=account.name)
        lanes = Lane.objects.filter(theirs, kind=account.kind)
        lanes.update(free_at=None, failures=0, last_error="", refused_since=None)
    return account


def drop_service_account(*, account: ServiceAccount) -> None:
    """Delete the account. Raises ValidationError while it is in use."""
    if reason := why_account_needed(account):
        raise ValidationError(reason)
    account.delete()


def why_account_needed(account: ServiceAccount) -> str:
    """Explain why it cannot be deleted, else ""."""
    if users := destinations_of_account(account).count():
        return f"{pluralize(users, 'bridge posts', 'bridges post')} with {account}: delete those first."
    if newsletters := newsletters_of_account(account).count():
        count = pluralize(newsletters, "newsletter is", "newsletters are")
        return f"{count} sent with {account}. Give them another account first."
    return ""


def destinations_of_account(account: ServiceAccount) -> "QuerySet[Destination]":
    """Return its destinations: their cores begin with its name (see BridgeChannel)."""
    rows = Destination.objects.filter(kind=account.kind, core__startswith=f"{account.name}/")
    return rows.filter(subscriptions__ended_at=None, subscriptions__isnull=False).distinct()


def newsletters_of_account(account: ServiceAccount) -> "QuerySet[Subscribable]":
    """Return newsletters with its name in their options."""
    return Subscribable.objects.filter(channel=account.kind, options__account=account.name)


def stored_values(account: ServiceAccount) -> dict[str, str]:
    """Return {} if unreadable."""
    try:
        return opened(account.secrets)
    except ValueError:
        return {}


def _checked(kind: str, values: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """Return cleaned fields, and the account's label by the service."""
    described = kind_of_account(kind)
    read = read_fields(described.account_fields, values, owner=described.label)
    return {name: value for name, value in read.items() if value}, described.check_account(read)[:320]
