import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from django.core.cache import cache
from django.db import transaction
from django.utils.translation import gettext

from common.net.errors import host_of
from common.refused import TranslatedRefusal
from common.secrets import opened
from reader.indieauth.client import Begun, Granted, begin, finish, renew
from reader.indieauth.discovery import NotConfirmed, discover, endpoints_of
from reader.micropub.site import Site, ask_config
from reader.models import Reader
from reader.people.tokens import connect_site
from reader.rules.micropub import Config, Target

AN_HOUR, A_MINUTE = 3600, 60
ASKED_SCOPES = ("create", "media")
# Older servers call it "post".
POSTING_SCOPES = frozenset({"create", "post"})
# Renew tokens that end sooner.
LEAST_LEFT = timedelta(minutes=2)


def config_at(site: Site) -> Config:
    """Cached for an hour, or a minute if empty (network)."""
    key = f"micropub-{hashlib.sha256(f'{site.endpoint} {site.token}'.encode()).hexdigest()}"
    known = cache.get(key)
    if known is not None:
        return Config(known[0], tuple(Target(*one) for one in known[1]))
    config = ask_config(site)
    targets = [(one.uid, one.name) for one in config.targets]
    cache.set(key, (config.media, targets), AN_HOUR if config != Config() else A_MINUTE)
    return config


def ask_site(*, me: str, redirect_uri: str, now: datetime) -> Begun:
    """Begin consent (network). Raises Refused."""
    endpoints = discover(me)
    if not endpoints.micropub:
        raise TranslatedRefusal(
            gettext("%(host)s doesn’t say where to post. Its page needs a link with rel=micropub.")
            % {"host": host_of(endpoints.me)},
            "me",
        )
    return begin(endpoints, redirect_uri=redirect_uri, scopes=ASKED_SCOPES, now=now)


def connect(*, reader: Reader, kept: Mapping[str, Any], answer: Mapping[str, str], now: datetime) -> None:
    """Store the token that a site issues (network). Raises Refused."""
    granted = finish(kept, answer, now=now)
    if not POSTING_SCOPES & set(granted.scopes):
        raise TranslatedRefusal(
            gettext("%(host)s didn’t grant permission to post. Allow it there.")
            % {"host": host_of(granted.me)}
        )
    if not granted.endpoints.micropub:
        raise NotConfirmed(f"{host_of(granted.me)} doesn’t say where to post.")
    with transaction.atomic():
        connect_site(reader=reader, me=granted.me, endpoints=asdict(granted.endpoints), now=now)
        Reader.objects.filter(pk=reader.pk).update(micropub=_kept(granted))


def disconnect(*, reader: Reader) -> None:
    """Sending then refuses posts, but keeps them."""
    Reader.objects.filter(pk=reader.pk).update(micropub={})


def site_of(reader: Reader) -> Site | None:
    token, endpoint = opened(reader.micropub).get("token", ""), reader.endpoints.get("micropub", "")
    return Site(endpoint, token) if token and endpoint else None


def renewed(reader: Reader, *, now: datetime) -> Granted | None:
    """Renew a token that ends soon, if possible (network). Raises NotConfirmed."""
    secrets = opened(reader.micropub)
    ends_at, refresh_token = secrets.get("ends_at", ""), secrets.get("refresh_token", "")
    if not ends_at or not refresh_token or datetime.fromisoformat(ends_at) > now + LEAST_LEFT:
        return None
    scopes = tuple(secrets.get("scope", "").split())
    granted = Granted(reader.me, endpoints_of(reader.endpoints), "", refresh_token, scopes)
    return renew(granted, now=now)


def keep_token(*, reader: Reader, granted: Granted) -> None:
    """Store a renewed token, unless it changed meanwhile."""
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
