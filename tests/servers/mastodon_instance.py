"""A fake Mastodon instance on loopback: it keeps statuses, honours keys, and fails as it is told."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from html import escape
from typing import Any

import grapheme

from tests.servers.api_server import ApiServer, Reply, Request

__all__ = ["MastodonInstance", "Reply", "Request"]

ACCOUNT = {"id": "109", "username": "bot", "acct": "bot"}
TOKEN = "token-1"
MASTODON = {"version": "4.5.2", "source_url": "https://github.com/mastodon/mastodon"}
GOTOSOCIAL = {"version": "0.20.1", "source_url": "https://codeberg.org/superseriousbusiness/gotosocial"}
PLEROMA = {"version": "2.7.2 (compatible; Pleroma 2.9.0)"}
LINK = re.compile(r"https?://\S+")


class MastodonInstance(ApiServer):
    """`says` is the reply to every POST of a status."""

    def __init__(self, software: Mapping[str, Any] = MASTODON, *, characters: int = 500) -> None:
        super().__init__()
        self.software, self.characters, self.per_url, self.honours_keys = software, characters, 23, True
        self.statuses: list[dict[str, Any]] = []
        # None: older than 4.3, which does not say.
        self.scopes: list[str] | None = ["read", "write:statuses"]
        self.now = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
        self._keys: dict[str, dict[str, Any]] = {}

    def posts(self, request: Request) -> bool:
        return (request.method, request.place) == ("POST", "/api/v1/statuses")

    def length(self, text: str) -> int:
        return int(grapheme.length(LINK.sub("x" * self.per_url, text)))

    def usual(self, request: Request) -> Reply:
        path = request.place
        if path.startswith("/api/v2/instance"):
            return Reply(body=self._about())
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return Reply(401, {"error": "The access token is invalid"})
        if path == "/api/v1/accounts/verify_credentials":
            return Reply(body=ACCOUNT)
        if path == "/api/v1/apps/verify_credentials":
            about = {"id": "3", "name": "Feedletter"}
            return Reply(body=about if self.scopes is None else {**about, "scopes": self.scopes})
        if path == f"/api/v1/accounts/{ACCOUNT['id']}/statuses":
            return Reply(body=self._newest(request))
        if (request.method, path) == ("POST", "/api/v1/statuses"):
            return self._post(request)
        if request.method == "DELETE":
            return self._delete(path.removeprefix("/api/v1/statuses/"))
        return Reply(404, {"error": "Record not found"})

    def _about(self) -> dict[str, Any]:
        limits = {"max_characters": self.characters, "characters_reserved_per_url": self.per_url}
        return {"domain": "fake.example", **self.software, "configuration": {"statuses": limits}}

    def _newest(self, request: Request) -> list[dict[str, Any]]:
        limit = int(request.query.get("limit", "20"))
        return self.statuses[::-1][: min(limit, 40)]

    def _post(self, request: Request) -> Reply:
        text = request.form.get("status", "")
        length = self.length(text) + grapheme.length(request.form.get("spoiler_text", ""))
        if not text or length > self.characters:
            limit = f"Text character limit of {self.characters} exceeded"
            return Reply(422, {"error": f"Validation failed: {limit if text else 'Text is blank'}"})
        return Reply(body=self._keep(request))

    def _delete(self, status_id: str) -> Reply:
        found = [status for status in self.statuses if status["id"] == status_id]
        self.statuses = [status for status in self.statuses if status not in found]
        return Reply(body=found[0]) if found else Reply(404, {"error": "Record not found"})

    def _keep(self, request: Request) -> dict[str, Any]:
        key = request.headers.get("idempotency-key", "")
        if key and self.honours_keys and key in self._keys:
            return self._keys[key]
        text = request.form.get("status", "")
        status = {
            "id": str(1000 + len(self.statuses)),
            "created_at": self.now.isoformat(),
            "content": f"<p>{LINK.sub(_linked, escape(text))}</p>",
            "text": text,
            "visibility": request.form.get("visibility", "public"),
            "account": ACCOUNT,
            "url": f"{self.url}/@bot/{1000 + len(self.statuses)}",
        }
        self.statuses.append(status)
        self._keys[key] = status
        return status


def _linked(match: re.Match[str]) -> str:
    """As Mastodon writes a link: scheme and tail in spans of their own."""
    url = match.group(0)
    scheme, _, rest = url.partition("//")
    shown = f'<span class="invisible">{scheme}//</span><span class="ellipsis">{rest[:30]}</span>'
    tail = f'<span class="invisible">{rest[30:]}</span>'
    return f'<a href="{url}" target="_blank" rel="nofollow noopener" translate="no">{shown}{tail}</a>'
