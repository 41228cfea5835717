"""Fake Mastodon instance on loopback: keeps statuses, honours idempotency keys, fails on demand."""

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.parser import BytesParser
from html import escape
from typing import Any
from urllib.parse import parse_qs

import grapheme
from PIL import Image

from tests.servers.api_server import ApiServer, Reply, Request
from tests.servers.consent import App, Consent

__all__ = ["MastodonInstance", "Reply", "Request"]

ACCOUNT = {"id": "109", "username": "bot", "acct": "bot"}
TOKEN = "token-1"
MASTODON = {"version": "4.5.2", "source_url": "https://github.com/mastodon/mastodon"}
GOTOSOCIAL = {"version": "0.20.1", "source_url": "https://codeberg.org/superseriousbusiness/gotosocial"}
PLEROMA = {"version": "2.7.2 (compatible; Pleroma 2.9.0)"}
LINK = re.compile(r"https?://\S+")
MOST_MEDIA = 4
POLICIES = ("", "public", "followers", "nobody")
NOT_READY = "Cannot attach files that have not finished processing. Try again in a moment!"
OUTSIDE = Reply(403, {"error": "This action is outside the authorized scopes"})
SCOPES_43 = {"read", "write", "profile", "read:accounts", "read:statuses", "write:media", "write:statuses"}
NOT_FOUND = Reply(404, {"error": "Record not found"})


@dataclass
class Medium:
    """Uploaded picture, ready after some more look-ups."""

    description: str
    octets: bytes
    media_type: str
    looks: int
    status_id: str = ""


class MastodonInstance(ApiServer):
    """Mastodon instance. `says` is the reply to every POST of a status."""

    def __init__(self, software: Mapping[str, Any] = MASTODON, *, characters: int = 500) -> None:
        super().__init__()
        self.software, self.characters, self.per_url, self.honours_keys = software, characters, 23, True
        self.statuses: list[dict[str, Any]] = []
        # None: older than 4.3, which does not return scopes.
        self.scopes: list[str] | None = ["read", "write:statuses"]
        self.now = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
        self._keys: dict[str, dict[str, Any]] = {}
        self._count = 1000
        self.media: dict[str, Medium] = {}
        # Number of look-ups before an upload is ready; negative: never ready.
        self.media_looks = 0
        self.description_limit, self.image_size_limit, self.image_matrix_limit = 1500, 16 * 2**20, 33_177_600

        self.consent = Consent("A Mastodon instance")
        # Before 4.3 there is no metadata document, no PKCE, and no scope "profile".
        self.is_before_43 = False
        self.takes_registrations = True
        self.account = dict(ACCOUNT)

    def posts(self, request: Request) -> bool:
        return (request.method, request.place) == ("POST", "/api/v1/statuses")

    def _oauth(self, request: Request) -> Reply | None:
        """Handle requests that need no token; return None for all others."""
        match (request.method, request.place):
            case ("GET", "/.well-known/oauth-authorization-server") if self.is_before_43:
                return Reply(200, "<!doctype html><title>Mastodon</title>", {"Content-Type": "text/html"})
            case ("GET", "/.well-known/oauth-authorization-server"):
                says = {"scopes_supported": sorted(SCOPES_43), "code_challenge_methods_supported": ["S256"]}
                return Reply(body={"issuer": self.url, **says})
            case ("POST", "/api/v1/apps"):
                return self._register(request)
            case ("GET", "/oauth/authorize"):
                return self.consent.page(request)
            case ("POST", "/oauth/token"):
                return self._token(request)
        return None

    def _register(self, request: Request) -> Reply:
        scopes = set(request.form["scopes"].split())
        known = SCOPES_43 - {"profile"} if self.is_before_43 else SCOPES_43
        if not self.takes_registrations:
            return Reply(403, {"error": "This action is not allowed"})
        if not scopes <= known:
            return Reply(422, {"error": "Validation failed: Scopes doesn't match configured on the server."})
        number = len(self.consent.apps)
        app = App(f"client-{number}", f"app-s3cret-{number}", request.form["redirect_uris"].split(), scopes)
        self.consent.apps[app.client_id] = app
        made = {"id": "1", "name": request.form["client_name"], "client_id": app.client_id}
        return Reply(body={**made, "client_secret": app.client_secret})

    def _token(self, request: Request) -> Reply:
        form = request.form
        app = self.consent.apps.get(form.get("client_id", ""))
        if form.get("grant_type") == "client_credentials" and app:
            is_fine = form.get("client_secret") == app.client_secret and {form.get("scope")} <= app.scopes
            return Reply(body={"access_token": "of-the-app"}) if is_fine else _oauth_error("invalid_scope")
        found = self.consent.redeem(request)
        if isinstance(found, str):
            return _oauth_error(found)
        if set(form.get("scope", "").split()) != set(found.scope.split()):
            return _oauth_error("invalid_scope")
        self.scopes = found.scope.split()
        return Reply(body={"access_token": TOKEN, "token_type": "Bearer", "scope": found.scope})

    def length(self, text: str) -> int:
        return int(grapheme.length(LINK.sub("x" * self.per_url, text)))

    def usual(self, request: Request) -> Reply:
        path = request.place
        if reply := self._oauth(request):
            return reply
        if path.startswith("/api/v2/instance"):
            return Reply(body=self._about())
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return Reply(401, {"error": "The access token is invalid"})
        if path == "/api/v1/accounts/verify_credentials":
            may = self.scopes is None or {"read", "read:accounts", "profile"} & set(self.scopes)
            return Reply(body=self.account) if may else OUTSIDE
        if path == "/api/v1/apps/verify_credentials":
            if self.is_before_43 and "read" not in (self.scopes or ["read"]):
                return OUTSIDE
            about = {"id": "3", "name": "Feedletter"}
            return Reply(body=about if self.scopes is None else {**about, "scopes": self.scopes})
        if path == f"/api/v1/accounts/{ACCOUNT['id']}/statuses":
            return Reply(body=self._newest(request))
        if (request.method, path) == ("POST", "/api/v1/statuses"):
            return self._post(request)
        if (request.method, path) == ("POST", "/api/v2/media"):
            return self._upload(request)
        kind, _, given = path.removeprefix("/api/v1/").partition("/")
        if kind == "media" and given in self.media:
            return self._medium(given)
        found = next((status for status in self.statuses if status["id"] == given), None)
        if kind == "statuses" and found is not None:
            return self._of_status(request, found)
        return NOT_FOUND

    def _may(self, scope: str) -> bool:
        return self.scopes is None or "write" in self.scopes or scope in self.scopes

    def _upload(self, request: Request) -> Reply:
        if not self._may("write:media"):
            return OUTSIDE
        head = f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode()
        parts: Any = BytesParser().parsebytes(head + request.body).get_payload()
        form = {part.get_param("name", header="content-disposition"): part for part in parts}
        octets = form["file"].get_payload(decode=True)
        description = form["description"].get_payload(decode=True).decode() if "description" in form else ""
        with Image.open(io.BytesIO(octets)) as image:
            pixels, kind = image.width * image.height, f"image/{(image.format or '').lower()}"
        for wrong, words in (
            (len(octets) > self.image_size_limit, "File size must be less than the limit"),
            (pixels > self.image_matrix_limit, "images of that size are not supported"),
            (len(description) > self.description_limit, "Description is too long"),
            (kind != form["file"].get_content_type(), "File content type is invalid"),
        ):
            if wrong:
                return Reply(422, {"error": f"Validation failed: {words}"})
        media_id = str(2000 + len(self.media))
        self.media[media_id] = Medium(description, octets, kind, self.media_looks)
        return Reply(202 if self.media_looks else 200, {"id": media_id, "type": "image", "url": None})

    def _medium(self, media_id: str) -> Reply:
        medium = self.media[media_id]
        if medium.looks < 0:
            return Reply(422, {"error": "Error processing thumbnail for uploaded media"})
        if medium.looks:
            medium.looks -= 1
            return Reply(206, {"id": media_id, "type": "image"})
        return Reply(200, {"id": media_id, "type": "image"})

    def _of_status(self, request: Request, status: dict[str, Any]) -> Reply:
        if request.method == "DELETE":
            self.statuses.remove(status)
        elif request.method == "PUT":
            if wrong := self._wrong(request, status["id"]):
                return wrong
            text = request.form["status"]
            status.update(text=text, content=f"<p>{LINK.sub(_linked, escape(text))}</p>", edited=True)
            status["spoiler_text"] = request.form.get("spoiler_text", "")
            self._attach(request, status)
        return Reply(body=status)

    def _wrong(self, request: Request, status_id: str = "") -> Reply | None:
        """Return why the instance refuses a status, or None."""
        form, media = request.form, _list(request, "media_ids[]")
        text, known = form.get("status", ""), {status["id"] for status in self.statuses}
        length = self.length(text) + grapheme.length(form.get("spoiler_text", ""))
        if not text or length > self.characters:
            limit = f"Text character limit of {self.characters} exceeded"
            return Reply(422, {"error": f"Validation failed: {limit if text else 'Text is blank'}"})
        if form.get("in_reply_to_id", "") not in known | {""}:
            return Reply(404, {"error": "The post you are trying to reply to does not appear to exist."})
        if len(media) > MOST_MEDIA:
            return Reply(422, {"error": "Cannot attach more than 4 files"})
        if any(one not in self.media or self.media[one].status_id not in ("", status_id) for one in media):
            return Reply(422, {"error": f"Validation failed: media {media} were not found"})
        if any(self.media[one].looks for one in media):
            return Reply(422, {"error": NOT_READY})
        if form.get("quote_approval_policy", "") not in POLICIES:
            return Reply(422, {"error": "Validation failed: quote policy"})
        return None

    def _attach(self, request: Request, status: dict[str, Any]) -> None:
        named = _list(request, "media_ids[]")
        for media_id in named:
            self.media[media_id].status_id = status["id"]
        status["media_attachments"] = [
            {"id": one, "description": self.media[one].description} for one in named
        ]

    def _about(self) -> dict[str, Any]:
        statuses = {
            "max_characters": self.characters,
            "characters_reserved_per_url": self.per_url,
            "max_media_attachments": MOST_MEDIA,
        }
        media = {
            "description_limit": self.description_limit,
            "image_size_limit": self.image_size_limit,
            "image_matrix_limit": self.image_matrix_limit,
        }
        configuration = {"statuses": statuses, "media_attachments": media}
        return {"domain": "fake.example", **self.software, "configuration": configuration}

    def _newest(self, request: Request) -> list[dict[str, Any]]:
        limit = int(request.query.get("limit", "20"))
        return self.statuses[::-1][: min(limit, 40)]

    def _post(self, request: Request) -> Reply:
        key = request.headers.get("idempotency-key", "")
        if key and self.honours_keys and key in self._keys:
            return Reply(body=self._keys[key])
        return self._wrong(request) or Reply(body=self._keep(request, key))

    def _keep(self, request: Request, key: str) -> dict[str, Any]:
        text, status_id = request.form["status"], str(self._count)
        self._count += 1
        status = {
            "id": status_id,
            "url": f"https://fake.example/@bot/{status_id}",
            "created_at": self.now.isoformat(),
            "content": f"<p>{LINK.sub(_linked, escape(text))}</p>",
            "text": text,
            "visibility": request.form.get("visibility", "public"),
            "spoiler_text": request.form.get("spoiler_text", ""),
            "in_reply_to_id": request.form.get("in_reply_to_id"),
            "quotes": request.form.get("quote_approval_policy", ""),
            "account": ACCOUNT,
        }
        self._attach(request, status)
        self.statuses.append(status)
        self._keys[key] = status
        return status


def _list(request: Request, name: str) -> list[str]:
    return parse_qs(request.body.decode()).get(name, [])


def _oauth_error(code: str) -> Reply:
    said = {
        "error": code,
        "error_description": "The provided authorization grant is invalid, expired or revoked.",
    }
    return Reply(401 if code == "invalid_client" else 400, said)


def _linked(match: re.Match[str]) -> str:
    """Mark up a link as Mastodon does: scheme and tail in separate spans."""
    url = match.group(0)
    scheme, _, rest = url.partition("//")
    shown = f'<span class="invisible">{scheme}//</span><span class="ellipsis">{rest[:30]}</span>'
    tail = f'<span class="invisible">{rest[30:]}</span>'
    return f'<a href="{url}" target="_blank" rel="nofollow noopener" translate="no">{shown}{tail}</a>'
