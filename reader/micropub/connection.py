"""A reader's own site, for which they gave us a token with which to post there."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from django.core.cache import cache
from django.db import transaction
from django.utils.translation import gettext

from common.net.errors import host_of
from common.refused import Refused
from common.secrets import opened
from reader.indieauth.client import Begun, Granted, begin, finish, renew
from reader.indieauth.discovery import Endpoints, NotConfirmed, discover
from reader.micropub.site import Site, ask_config
from reader.models import Reader
from reader.people.tokens import connect_site
from reader.rules.micropub import Config, Target

AN_HOUR, A_MINUTE = 3600, 60


def config_at(site: Site) -> Config:
    """Asks the site (network), unless it said so within the hour; nothing holds for a minute."""
    key = f"micropub-{hashlib.sha256(f'{site.endpoint} {site.token}'.encode()).hexdigest()}"
    known = cache.get(key)
    if known is not None:
        return Config(known[0], tuple(Target(*one) for one in known[1]))
    found = ask_config(site)
    targets = [(one.uid, one.name) for one in found.targets]
    cache.set(key, (found.media, targets), AN_HOUR if found != Config() else A_MINUTE)
    return found


ASKED_SCOPES = ("create", "media")
# "post" is what older servers call it.
POSTING_SCOPES = frozenset({"create", "post"})
# A token that ends sooner is renewed before it is used.
LEAST_LEFT = timedelta(minutes=2)


def ask_site(*, me: str, redirect_uri: str, now: datetime) -> Begun:
    """Where a person says yes, on their own site (network). Raises Refused."""
    endpoints = discover(me)
    if not endpoints.micropub:
        raise Refused(
            gettext("%(host)s does not say where to post: its page needs a link with rel=micropub.")
            % {"host": host_of(endpoints.me)},
            "me",
        )
    return begin(endpoints, redirect_uri=redirect_uri, scopes=ASKED_SCOPES, now=now)


def connect(*, reader: Reader, kept: Mapping[str, Any], answer: Mapping[str, str], now: datetime) -> None:
    """Keeps the token that the person's site gives (network). It is theirs from now on. Raises Refused."""
    granted = finish(kept, answer, now=now)
    if not POSTING_SCOPES & set(granted.scopes):
        raise Refused(
            gettext("%(host)s did not allow to post. Say yes to that there.") % {"host": host_of(granted.me)}
        )
    if not granted.endpoints.micropub:
        raise NotConfirmed(f"{host_of(granted.me)} does not say where to post.")
    with transaction.atomic():
        connect_site(reader=reader, me=granted.me, endpoints=asdict(granted.endpoints), now=now)
        Reader.objects.filter(pk=reader.pk).update(micropub=_kept(granted))


def disconnect(*, reader: Reader) -> None:
    """Forgets the token. What was not sent yet says so, and is kept."""
    Reader.objects.filter(pk=reader.pk).update(micropub={})


def site_of(reader: Reader) -> Site | None:
    """Where they post, if they gave a token."""
    token, endpoint = opened(reader.micropub).get("token", ""), reader.endpoints.get("micropub", "")
    return Site(endpoint, token) if token and endpoint else None


def renewed(reader: Reader, *, now: datetime) -> Granted | None:
    """The next token, if the present one ends (network); None: it is still good, or cannot be renewed.

    Raises NotConfirmed.
    """
    secrets = opened(reader.micropub)
    ends_at, refresh_token = secrets.get("ends_at", ""), secrets.get("refresh_token", "")
    if not ends_at or not refresh_token or datetime.fromisoformat(ends_at) > now + LEAST_LEFT:
        return None
    endpoints = Endpoints(**{**reader.endpoints, "urls": tuple(reader.endpoints.get("urls", ()))})
    scopes = tuple(secrets.get("scope", "").split())
    return renew(Granted(reader.me, endpoints, "", refresh_token, scopes), now=now)


def keep_token(*, reader: Reader, granted: Granted) -> None:
    """Keeps a renewed token, unless the person disconnected or connected meanwhile."""
    token = opened(reader.micropub).get("refresh_token")
    with transaction.atomic():
        row = Reader.objects.select_for_update(no_key=True).get(pk=reader.pk)
        if opened(row.micropub).get("refresh_token") == token:
            row.micropub = _kept(granted)
            row.save(update_fields=["micropub"])


def _kept(granted: Granted) -> dict[str, str]:
    return {
        "token": granted.token,
        "refresh_token": granted.refresh_token,
        "scope": " ".join(granted.scopes),
        "ends_at": granted.ends_at.isoformat() if granted.ends_at else "",
    }
