"""Connect bridges, by OAuth or by fields.

The service checks destinations first; nothing is posted before the admin agrees.
"""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction

from channels.bridge import Bridge
from channels.oauth import AGAIN, AppUnknown, Authorisation, NotConnected, OAuth, code_of_yes
from common.ports import channels
from common.ports.channels import ChannelSpec, InvalidDestination, ParsedDestination
from common.secrets import Sealed, opened
from common.transactions import forbid_open_transaction
from delivery.models import Lane, ServiceAccount
from feeds.models import Feed
from subscriptions.models import Destination, Subscribable, Subscription
from subscriptions.newsletters.define import define_subscribable
from subscriptions.subscribers.admin_changes import subscribe_checked


class Elsewhere(InvalidDestination):
    """Credentials of another account or room than the bridge's."""


def typed_destination(channel: str, data: Mapping[str, str]) -> ParsedDestination:
    """Check a form's destination with the service (network). Raises InvalidDestination."""
    kind = channels.get(channel)
    return kind.check(kind.parse_destination(data))


def connect_bridge(
    *, name: str, channel: str, feeds: Sequence[Feed], parsed: ParsedDestination, now: datetime, **fields: Any
) -> Subscription:
    """Create a bridge for a checked destination. Raises InvalidDestination and ValidationError.

    `fields`: the newsletter's others.
    """
    with transaction.atomic():
        made = define_subscribable(name=name, feeds=feeds, channel=channel, **fields)
        there = (
            Destination.objects.select_for_update(no_key=True).filter(kind=channel, core=parsed.core).first()
        )
        if there is not None and is_elsewhere(there, parsed):
            name = parsed.config.get("account", parsed.core)
            raise InvalidDestination(f"account: “{name}” is {there.label} here. Give another short name.")
        return subscribe_checked(subscribable=made, parsed=parsed, now=now)


def is_elsewhere(destination: Destination, parsed: ParsedDestination) -> bool:
    """Return whether they are different accounts or rooms, as far as known."""
    kind, is_same_core = channels.get(destination.kind), parsed.core == destination.core
    if isinstance(kind, Bridge) and (kind.core_is_chosen or not is_same_core):
        known, new = kind.place(destination.config), kind.place(parsed.config)
        if known and new:
            return known != new
    return not is_same_core


def why_unconnected(kind: str, label: str, secrets: Sealed | dict[str, str]) -> str:
    """Return a sentence if the destination lacks its credentials, as after an import without secrets."""
    if secrets or not any(one.required and one.secret for one in channels.get(kind).destination_fields):
        return ""
    return f"{label} isn’t connected: this site has no credentials for it. Posts wait until you connect it."


def connections_of(bridge: Subscribable) -> list[Subscription]:
    rows = bridge.subscriptions.filter(status=Subscription.Status.CONFIRMED, ended_at=None)
    return list(rows.select_related("destination", "subscribable").order_by("pk"))


def check_again(destination: Destination) -> str:
    """Return the destination's label from the service (network). Raises InvalidDestination."""
    kind = channels.get(destination.kind)
    stored = channels.ParsedDestination(
        core=destination.core,
        label=destination.label,
        config=dict(destination.config),
        secrets=read_secrets(destination),
    )
    return kind.check(stored).label


def reconnect(
    *, destination: Destination, parsed: ParsedDestination, now: datetime, elsewhere: bool = False
) -> Destination:
    """Replace a destination's credentials and enable it. Raises InvalidDestination.

    Raises Elsewhere for another account or room unless `elsewhere`.
    """
    is_other = is_elsewhere(destination, parsed)
    if is_other and not elsewhere:
        raise Elsewhere(
            f"That is {parsed.label}, and this bridge posts to {destination.label}. For another one, add"
            " another bridge."
        )
    facts = {"label": parsed.label, "config": parsed.config, "secrets": parsed.secrets}
    cores = [destination.core]
    if is_other:
        # (A room's new webhook has another address, but is the same destination.)
        facts["core"] = parsed.core
        cores.append(parsed.core)
    with transaction.atomic():
        if (
            Destination.objects.filter(kind=destination.kind, core=cores[-1])
            .exclude(pk=destination.pk)
            .exists()
        ):
            raise InvalidDestination(f"Another bridge posts to {parsed.label} already.")
        row = Destination.objects.select_for_update(no_key=True).get(pk=destination.pk)
        for field, value in {**facts, "disabled_at": None, "disabled_reason": ""}.items():
            setattr(row, field, value)
        row.save()
        # It rests because of the old credentials.
        borrowers = (each.key for each in channels.all_kinds() if each.borrows == row.kind)
        resting = Lane.objects.filter(kind__in=(row.kind, *borrowers), account__in=cores)
        resting.update(free_at=None, failures=0, last_error="", refused_since=None)
    return row


def read_secrets(destination: Destination) -> dict[str, str]:
    """Return the secrets. Raises InvalidDestination if unreadable."""
    try:
        return opened(destination.secrets)
    except ValueError as error:
        raise InvalidDestination(f"{error} Or connect {destination.label} again.") from error


def oauth_of(kind: ChannelSpec) -> OAuth | None:
    return kind.connection if isinstance(kind, Bridge) else None


def applications(oauth: OAuth) -> list[ServiceAccount]:
    return list(ServiceAccount.objects.filter(kind=oauth.key).order_by("pk"))


def send_to_service(
    oauth: OAuth, given: Mapping[str, str], *, app: str, return_url: str, state: str, now: datetime
) -> tuple[Authorisation, str]:
    """Return where the admin has to agree, and the application's name. Raises NotConnected.

    `app`: chosen application, if admins add them. `given`: cleaned fields.
    """
    forbid_open_transaction()
    if oauth.needs_https and not return_url.startswith("https:"):
        raise NotConnected(
            f"{oauth.service} leads back to https addresses alone, and SITE_URL is {settings.SITE_URL}. Paste"
            " what the form asks for instead."
        )
    if not oauth.account_fields:
        app = _registered(oauth, given, return_url, now)
    return oauth.begin(given, return_url, state, _values(oauth, app)), app


def given_destination(
    kind: ChannelSpec,
    params: Mapping[str, str],
    kept: Mapping[str, str],
    *,
    app: str,
    return_url: str,
    typed: Mapping[str, str],
) -> ParsedDestination:
    """Return the granted destination, checked; `typed` fields override it.

    Raises NotConnected and InvalidDestination.
    """
    forbid_open_transaction()
    oauth = oauth_of(kind)
    if oauth is None:
        raise NotConnected(f"{kind.label} is connected with its form, not by signing in there.")
    code = code_of_yes(params, oauth.known_as(kept))
    try:
        grant = oauth.finish(code, return_url, kept, _values(oauth, app))
    except AppUnknown as error:
        if oauth.account_fields:
            raise NotConnected(f"{error} Give “{app}” a new secret under Accounts of services.") from error
        # The next attempt registers again.
        ServiceAccount.objects.filter(kind=oauth.key, name=app).delete()
        raise NotConnected(f"{error} {AGAIN}") from error
    checked = typed_destination(kind.key, {**grant.fields, **typed})
    return replace(checked, label=grant.label or checked.label, config={**checked.config, **grant.config})


def _registered(oauth: OAuth, given: Mapping[str, str], return_url: str, now: datetime) -> str:
    """Return our application there; registers it once."""
    place = oauth.known_as(given)
    # (Account names are short; an application has one return address.)
    name = f"{oauth.key}-{hashlib.sha256(f'{place} {return_url}'.encode()).hexdigest()[:24]}"
    known = ServiceAccount.objects.filter(kind=oauth.key, name=name).first()
    # (Unreadable: register again.)
    with suppress(NotConnected):
        if known is not None and oauth.is_known(_values(oauth, name), given):
            return name
    made: dict[str, Any] = {"secrets": dict(oauth.register(given, return_url))}
    facts = {**made, "label": place[:320], "tried_at": now}
    ServiceAccount.objects.update_or_create(kind=oauth.key, name=name, defaults=facts)
    return name


def _values(oauth: OAuth, name: str) -> Mapping[str, str]:
    account = ServiceAccount.objects.filter(kind=oauth.key, name=name).first()
    if account is None:
        raise NotConnected(f"The account “{oauth.label}” no longer exists. Add one, and press Connect again.")
    try:
        return opened(account.secrets)
    except ValueError as error:
        raise NotConnected(str(error)) from error
