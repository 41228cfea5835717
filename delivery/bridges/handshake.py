"""OAuth for bridges (network)."""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.conf import settings

from channels.bridge import BridgeSpec
from channels.oauth import AGAIN, AppUnknown, Authorisation, NotConnected, OAuth, code_of_yes
from common.ports.channels import ChannelSpec, ParsedDestination
from common.secrets import opened
from common.transactions import forbid_open_transaction
from delivery.bridges.connect import typed_destination
from delivery.models import ServiceAccount


def oauth_of(kind: ChannelSpec) -> OAuth | None:
    return kind.connect if isinstance(kind, BridgeSpec) else None


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
