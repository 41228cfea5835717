"""IndieAuth client: asks a person's site who they are, and for a token.

    begun = begin(discover("https://ada.example/"), redirect_uri=…, now=now)
    # Keep `begun.kept` in the session, and redirect to `begun.url`.
    granted = finish(kept, request.GET, now=now)

`addresses.RETURNS` has to list the page at `redirect_uri`.
"""

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from hmac import compare_digest
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from common.net.client import FetchError, client
from common.net.errors import host_of
from common.refused import Refused
from common.text import one_line, shortened
from reader.indieauth.discovery import (
    MAX_BYTES,
    Endpoints,
    NotConfirmed,
    discover,
    endpoints_of,
    fields_of,
    is_trial,
    our_client_id,
    sentence,
)
from reader.rules.identity import challenge_of, profile_url, same_profile

# For signing in there.
PATIENCE = timedelta(hours=1)
EXCHANGE_SECONDS = 10.0
LONGEST_CODE = 4_000
LONGEST_SAID = 300
AGAIN = "Start again."


@dataclass(frozen=True, slots=True)
class Begun:
    url: str
    kept: dict[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Granted:
    """Proven identity, with a token if scopes were asked for."""

    me: str
    endpoints: Endpoints
    token: str = field(default="", repr=False)
    refresh_token: str = field(default="", repr=False)
    scopes: tuple[str, ...] = ()
    ends_at: datetime | None = None


def begin(endpoints: Endpoints, *, redirect_uri: str, now: datetime, scopes: Iterable[str] = ()) -> Begun:
    """Request a code (§5.2); without scopes only an identity. Raises NotConfirmed."""
    scope = " ".join(scopes)
    if scope and not endpoints.token:
        raise NotConfirmed(f"{host_of(endpoints.me)} doesn’t name a token endpoint.", "me")
    state, verifier = secrets.token_urlsafe(24), secrets.token_urlsafe(48)
    asked = {
        "response_type": "code",
        "client_id": our_client_id(),
        "redirect_uri": redirect_uri,
        "state": state,
        "code_challenge": challenge_of(verifier),
        "code_challenge_method": "S256",
        "me": endpoints.me,
        **({"scope": scope} if scope else {}),
    }
    parts = urlsplit(endpoints.authorization)
    query = "&".join(filter(None, (parts.query, urlencode(asked))))
    kept = {
        "state": state,
        "verifier": verifier,
        "redirect_uri": redirect_uri,
        "scope": scope,
        "endpoints": asdict(endpoints),
        "until": (now + PATIENCE).timestamp(),
    }
    return Begun(urlunsplit(parts._replace(query=query, fragment="")), kept)


def finish(kept: Mapping[str, Any], answer: Mapping[str, str], *, now: datetime) -> Granted:
    """Redeem a code (network). `answer` is the query of the redirect. Raises NotConfirmed.

    `me` has to be the discovered profile, or name the same server (§5.4).
    """
    if not kept or not compare_digest(str(kept["state"]).encode(), answer.get("state", "").encode()):
        raise NotConfirmed(f"This response doesn’t match a sign-in that was started here. {AGAIN}")
    if now.timestamp() > kept["until"]:
        raise NotConfirmed(f"That took longer than an hour. {AGAIN}")
    asked = endpoints_of(kept["endpoints"])
    if asked.issuer and answer.get("iss") != asked.issuer:
        raise NotConfirmed(f"The response isn’t from {host_of(asked.issuer)}. {AGAIN}")
    if answer.get("error"):
        raise NotConfirmed(_refusal(answer, asked.authorization))
    code = answer.get("code", "")
    if not 1 <= len(code) <= LONGEST_CODE:
        raise NotConfirmed(f"{host_of(asked.authorization)} sent no code. {AGAIN}")
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "client_id": our_client_id(),
        "redirect_uri": kept["redirect_uri"],
        "code_verifier": kept["verifier"],
    }
    # The authorization endpoint redeems codes without scopes (§5.3.1).
    fields = _redeemed(asked.token if kept["scope"] else asked.authorization, form)
    endpoints = _confirmed(str(fields.get("me") or ""), asked)
    return _granted(fields, endpoints, kept["scope"], now)


def renew(granted: Granted, *, now: datetime) -> Granted:
    """Refresh a token (§5.5; network). Raises NotConfirmed."""
    form = {
        "grant_type": "refresh_token",
        "refresh_token": granted.refresh_token,
        "client_id": our_client_id(),
    }
    fields = {"refresh_token": granted.refresh_token, **_redeemed(granted.endpoints.token, form)}
    return _granted(fields, granted.endpoints, " ".join(granted.scopes), now)


def _redeemed(url: str, form: Mapping[str, str]) -> Mapping[str, Any]:
    try:
        answer = client().request(
            "POST",
            url,
            data=form,
            headers={"Accept": "application/json"},
            timeout=EXCHANGE_SECONDS,
            max_bytes=MAX_BYTES,
        )
    except FetchError as error:
        raise NotConfirmed(sentence(error, url)) from error
    fields = fields_of(answer)
    if answer.status != 200:
        raise NotConfirmed(_refusal(fields, url))
    return fields


def _confirmed(me: str, asked: Endpoints) -> Endpoints:
    """Raises NotConfirmed if this server may not speak for `me`."""
    try:
        me = profile_url(me, trial=is_trial())
    except Refused as error:
        raise NotConfirmed(f"{host_of(asked.authorization)} didn’t say who you are. {AGAIN}") from error
    if any(same_profile(me, url) for url in (asked.me, *asked.urls)):
        return replace(asked, me=me)
    endpoints = discover(me)
    if not endpoints.is_of_same_server(asked) or not same_profile(endpoints.me, me):
        raise NotConfirmed(f"{host_of(asked.authorization)} isn’t allowed to confirm {me}.")
    return endpoints


def _granted(said: Mapping[str, Any], endpoints: Endpoints, scope: str, now: datetime) -> Granted:
    if not scope:
        return Granted(endpoints.me, endpoints)
    token, refresh_token, given = (
        said.get(name) or "" for name in ("access_token", "refresh_token", "scope")
    )
    kind = str(said.get("token_type") or "bearer").lower()
    if not _is_secret(token) or kind != "bearer":
        raise NotConfirmed(f"{host_of(endpoints.token)} sent no token. {AGAIN}")
    seconds = said.get("expires_in")
    ends_at = None
    if isinstance(seconds, int | str) and str(seconds).isascii() and str(seconds).isdigit():
        ends_at = now + timedelta(seconds=min(int(str(seconds)[:12]), 10**9))
    return Granted(
        me=endpoints.me,
        endpoints=endpoints,
        token=token,
        refresh_token=refresh_token if _is_secret(refresh_token) else "",
        # RFC 6749 §5.1: absent if all were granted.
        scopes=tuple((one_line(given) if isinstance(given, str) and given else scope).split()),
        ends_at=ends_at,
    )


def _is_secret(value: object) -> bool:
    return (
        isinstance(value, str) and 1 <= len(value) <= LONGEST_CODE and value.isascii() and value.isprintable()
    )


def _refusal(said: Mapping[str, Any], url: str) -> str:
    if said.get("error") == "access_denied":
        return "You declined."
    words = shortened(one_line(str(said.get("error_description") or said.get("error") or "")), LONGEST_SAID)
    return f"{host_of(url)} refused it" + (f": {words}" if words else ".")
