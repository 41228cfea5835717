import base64
import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any
from urllib.parse import parse_qsl, urlencode

from demo.answer import JSON, ApiRequest, PageAnswer
from demo.mastodon import ACCOUNT, TOKEN

SCOPES = ("profile", "read", "read:accounts", "read:statuses", "write", "write:media", "write:statuses")
# Limits a demo that keeps running.
MOST_KEPT = 100
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport"
content="width=device-width"><title>Authorize {app}</title><h1>May {app} post as @{account}?</h1>
<p>It asks for: {scopes}.</p><p><a href="{yes}">Authorize</a> · <a href="{no}">Deny</a></p></html>"""


@dataclass(frozen=True, slots=True)
class _App:
    name: str
    secret: str = field(repr=False)
    redirects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Code:
    client_id: str
    redirect: str
    challenge: str


class MastodonOAuth:
    """The parts of RFC 6749 §4.1 and RFC 7636 that Connect uses."""

    def __init__(self) -> None:
        self._apps: dict[str, _App] = {}
        self._codes: dict[str, _Code] = {}

    def answer(self, request: ApiRequest) -> PageAnswer | None:
        """Return None for other addresses."""
        match request.method, request.path:
            case "GET", "/.well-known/oauth-authorization-server":
                issuer = f"http://{request.headers.get('Host', '')}/"
                facts = {"scopes_supported": SCOPES, "code_challenge_methods_supported": ["S256"]}
                return _json({"issuer": issuer, **facts})
            case "POST", "/api/v1/apps":
                return self._registered(_form(request))
            case "GET", "/oauth/authorize":
                return self._consent(request.query)
            case "POST", "/oauth/token":
                return self._token(_form(request))
        return None

    def _registered(self, form: Mapping[str, str]) -> PageAnswer:
        if not set(form.get("scopes", "read").split()) <= set(SCOPES):
            return _json({"error": "Validation failed: Scopes doesn't match configured on the server."}, 422)
        client_id, redirects = secrets.token_hex(16), tuple(form.get("redirect_uris", "").split())
        app = _App(form.get("client_name", ""), secrets.token_hex(16), redirects)
        _keep(self._apps, client_id, app)
        return _json({"id": "1", "name": app.name, "client_id": client_id, "client_secret": app.secret})

    def _consent(self, query: Mapping[str, str]) -> PageAnswer:
        client_id, redirect = query.get("client_id", ""), query.get("redirect_uri", "")
        app = self._apps.get(client_id)
        if app is None or redirect not in app.redirects:
            return PageAnswer(b"Unknown client or redirect address.", "text/plain; charset=utf-8", 400)
        if query.get("answer") not in ("yes", "no"):
            yes, no = (escape(f"?{urlencode({**query, 'answer': word})}") for word in ("yes", "no"))
            scopes = escape(query.get("scope", ""))
            page = PAGE.format(app=escape(app.name), account=ACCOUNT, scopes=scopes, yes=yes, no=no)
            return PageAnswer(page.encode())
        result = {"error": "access_denied"}
        if query["answer"] == "yes":
            result = {"code": secrets.token_hex(16)}
            _keep(self._codes, result["code"], _Code(client_id, redirect, query.get("code_challenge", "")))
        location = f"{redirect}?{urlencode({**result, 'state': query.get('state', '')})}"
        return PageAnswer(b"", status=302, location=location)

    def _token(self, form: Mapping[str, str]) -> PageAnswer:
        client_id = form.get("client_id", "")
        app = self._apps.get(client_id)
        if app is None or not secrets.compare_digest(form.get("client_secret", ""), app.secret):
            return _json({"error": "invalid_client"}, 401)
        if form.get("grant_type") == "client_credentials":
            return _json({"access_token": secrets.token_hex(16), "token_type": "Bearer"})
        code = self._codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        is_ours = code is not None and code.client_id == client_id
        if code is None or not is_ours or code.redirect != form.get("redirect_uri"):
            return _json({"error": "invalid_grant"}, 400)
        if code.challenge and code.challenge != challenge:
            return _json({"error": "invalid_grant"}, 400)
        return _json({"access_token": TOKEN, "token_type": "Bearer", "scope": form.get("scope", "")})


def _keep(rows: dict[str, Any], key: str, row: _App | _Code) -> None:
    while len(rows) >= MOST_KEPT:
        del rows[next(iter(rows))]
    rows[key] = row


def _form(request: ApiRequest) -> dict[str, str]:
    return dict(parse_qsl(request.body.decode("utf-8", "replace")))


def _json(content: Mapping[str, object], status: int = 200) -> PageAnswer:
    return PageAnswer(json.dumps(content).encode(), JSON, status)
