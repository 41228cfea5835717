"""This site as a client: it asks somebody's own site who they are, and for a token to act for them there.

    endpoints = discover("https://ada.example/")        # reader.indieauth.discovery
    begun = begin(endpoints, scopes=("create", "media"), redirect_uri=…, now=now)
    …keep `begun.kept` in the session, send the browser to `begun.url`; it comes back with a query:
    granted = finish(kept, request.GET, now=now)         # granted.me is proven, granted.token may be used

The `redirect_uri` is a page of ours; its name stands in `addresses.RETURNS`.
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

# People may have to sign in over there first.
PATIENCE = timedelta(hours=1)
EXCHANGE_SECONDS = 10.0
LONGEST_CODE = 4_000
LONGEST_SAID = 300
AGAIN = "Begin once more."


@dataclass(frozen=True, slots=True)
class Begun:
    """Where the browser goes, and what `finish` needs when it is back: JSON for a session."""

    url: str
    kept: dict[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Granted:
    """Who it is, proven by their own site. With scopes also a token; `ends_at` None: it says no end."""

    me: str
    endpoints: Endpoints
    token: str = field(default="", repr=False)
    refresh_token: str = field(default="", repr=False)
    scopes: tuple[str, ...] = ()
    ends_at: datetime | None = None


def begin(endpoints: Endpoints, *, redirect_uri: str, now: datetime, scopes: Iterable[str] = ()) -> Begun:
    """Asks for a code (§5.2). Without scopes it only says who somebody is. Raises NotConfirmed."""
    scope = " ".join(scopes)
    if scope and not endpoints.token:
        raise NotConfirmed(f"{host_of(endpoints.me)} does not say where tokens come from.", "me")
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
    """What somebody's site says (network). `answer` is the query with which the browser came back.

    `me` was found by us, or is a page that names the same server (§5.4): no site speaks for another one's
    people. Raises NotConfirmed.
    """
    if not kept or not compare_digest(str(kept["state"]).encode(), answer.get("state", "").encode()):
        raise NotConfirmed(f"This answer belongs to nothing that was begun here. {AGAIN}")
    if now.timestamp() > kept["until"]:
        raise NotConfirmed(f"That took longer than an hour. {AGAIN}")
    asked = endpoints_of(kept["endpoints"])
    if asked.issuer and answer.get("iss") != asked.issuer:
        raise NotConfirmed(f"The answer is not by {host_of(asked.issuer)}. {AGAIN}")
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
    # Without scopes the code is only good for a name, and the authorization endpoint gives that (§5.3.1).
    said = _redeemed(asked.token if kept["scope"] else asked.authorization, form)
    endpoints = _confirmed(str(said.get("me") or ""), asked)
    return _granted(said, endpoints, kept["scope"], now)


def renew(granted: Granted, *, now: datetime) -> Granted:
    """The next token for the one that ends (§5.5; network). Raises NotConfirmed."""
    form = {
        "grant_type": "refresh_token",
        "refresh_token": granted.refresh_token,
        "client_id": our_client_id(),
    }
    said = {"refresh_token": granted.refresh_token, **_redeemed(granted.endpoints.token, form)}
    return _granted(said, granted.endpoints, " ".join(granted.scopes), now)


def _redeemed(url: str, form: Mapping[str, str]) -> Mapping[str, Any]:
    """What the endpoint gives. Raises NotConfirmed."""
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
    said = fields_of(answer)
    if answer.status != 200:
        raise NotConfirmed(_refusal(said, url))
    return said


def _confirmed(me: str, asked: Endpoints) -> Endpoints:
    """The endpoints of whom the server names. Raises NotConfirmed."""
    try:
        me = profile_url(me, trial=is_trial())
    except Refused as error:
        raise NotConfirmed(f"{host_of(asked.authorization)} did not say who you are. {AGAIN}") from error
    if any(same_profile(me, url) for url in (asked.me, *asked.urls)):
        return replace(asked, me=me)
    found = discover(me)
    if not found.is_of_same_server(asked) or not same_profile(found.me, me):
        raise NotConfirmed(f"{host_of(asked.authorization)} may not speak for {me}.")
    return found


def _granted(said: Mapping[str, Any], endpoints: Endpoints, scope: str, now: datetime) -> Granted:
    """Raises NotConfirmed where a token was asked for and none is there."""
    if not scope:
        return Granted(endpoints.me, endpoints)
    token, refresh_token, given = (
        said.get(name) or "" for name in ("access_token", "refresh_token", "scope")
    )
    kind = str(said.get("token_type") or "bearer").lower()
    if not _is_secret(token) or kind != "bearer":
        raise NotConfirmed(f"{host_of(endpoints.token)} gave no token. {AGAIN}")
    seconds = said.get("expires_in")
    ends_at = None
    if isinstance(seconds, int | str) and str(seconds).isascii() and str(seconds).isdigit():
        ends_at = now + timedelta(seconds=min(int(str(seconds)[:12]), 10**9))
    return Granted(
        me=endpoints.me,
        endpoints=endpoints,
        token=token,
        refresh_token=refresh_token if _is_secret(refresh_token) else "",
        # RFC 6749 §5.1: it may say nothing where it gave all.
        scopes=tuple((one_line(given) if isinstance(given, str) and given else scope).split()),
        ends_at=ends_at,
    )


def _is_secret(value: object) -> bool:
    """Whether it may stand in a header."""
    return (
        isinstance(value, str) and 1 <= len(value) <= LONGEST_CODE and value.isascii() and value.isprintable()
    )


def _refusal(said: Mapping[str, Any], url: str) -> str:
    if said.get("error") == "access_denied":
        return "You said no."
    words = shortened(one_line(str(said.get("error_description") or said.get("error") or "")), LONGEST_SAID)
    return f"{host_of(url)} refused it" + (f": {words}" if words else ".")
