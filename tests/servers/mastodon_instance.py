"""A fake Mastodon instance on loopback: it keeps statuses, honours keys, and fails as it is told."""

import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

import grapheme

ACCOUNT = {"id": "109", "username": "bot", "acct": "bot"}
TOKEN = "token-1"
MASTODON = {"version": "4.5.2", "source_url": "https://github.com/mastodon/mastodon"}
GOTOSOCIAL = {"version": "0.20.1", "source_url": "https://codeberg.org/superseriousbusiness/gotosocial"}
PLEROMA = {"version": "2.7.2 (compatible; Pleroma 2.9.0)"}
LINK = re.compile(r"https?://\S+")


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asked; header names lower-cased."""

    method: str
    path: str
    headers: Mapping[str, str]
    form: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer instead of the usual one. `takes`: the status is kept all the same; `silent`: no answer,
    the connection is held; `hangs_up`: it is closed at once."""

    status: int = 200
    body: bytes | str | dict[str, Any] | list[Any] = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    takes: bool = False
    silent: bool = False
    hangs_up: bool = False


class MastodonInstance:
    """Use as a context manager. `says` is the reply to every POST of a status, by path to other requests."""

    def __init__(self, software: Mapping[str, Any] = MASTODON, *, characters: int = 500) -> None:
        self.software, self.characters, self.per_url, self.honours_keys = software, characters, 23, True
        self.says: Reply | None = None
        self.paths: dict[str, Reply] = {}
        self.requests: list[Request] = []
        self.statuses: list[dict[str, Any]] = []
        # None: older than 4.3, which does not say.
        self.scopes: list[str] | None = ["read", "write:statuses"]
        self.now = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
        self.stopping = threading.Event()
        self._keys: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()
        self._http = _Http(self)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(5)

    def asked(self, path: str) -> list[Request]:
        """The requests for a path, its query left out."""
        return [request for request in self.requests if urlsplit(request.path).path == path]

    def answer(self, request: Request) -> Reply:
        """The reply to a request; what is told beforehand goes before what is usual."""
        path = urlsplit(request.path).path
        with self._lock:
            self.requests.append(request)
            told = self.says if (request.method, path) == ("POST", "/api/v1/statuses") else None
            told = told or self.paths.get(path)
            if told and told.takes:
                self._keep(request)
            return told or self._usual(request, path)

    def length(self, text: str) -> int:
        return int(grapheme.length(LINK.sub("x" * self.per_url, text)))

    def _usual(self, request: Request, path: str) -> Reply:
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
        return Reply(404, {"error": "Record not found"})

    def _about(self) -> dict[str, Any]:
        limits = {"max_characters": self.characters, "characters_reserved_per_url": self.per_url}
        return {"domain": "fake.example", **self.software, "configuration": {"statuses": limits}}

    def _newest(self, request: Request) -> list[dict[str, Any]]:
        limit = int(parse_qs(urlsplit(request.path).query).get("limit", ["20"])[0])
        return self.statuses[::-1][: min(limit, 40)]

    def _post(self, request: Request) -> Reply:
        text = request.form.get("status", "")
        length = self.length(text) + grapheme.length(request.form.get("spoiler_text", ""))
        if not text or length > self.characters:
            limit = f"Text character limit of {self.characters} exceeded"
            return Reply(422, {"error": f"Validation failed: {limit if text else 'Text is blank'}"})
        return Reply(body=self._keep(request))

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


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, instance: MastodonInstance) -> None:
        self.instance = instance
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 5

    def do_GET(self) -> None:
        self._reply()

    def do_POST(self) -> None:
        self._reply()

    def log_message(self, *_: object) -> None:
        pass

    def _reply(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        form = {name: values[0] for name, values in parse_qs(body, keep_blank_values=True).items()}
        headers = {name.lower(): value for name, value in self.headers.items()}
        assert isinstance(self.server, _Http)
        instance = self.server.instance
        reply = instance.answer(Request(self.command, self.path, headers, form))
        if reply.silent:
            instance.stopping.wait(5)
        if reply.silent or reply.hangs_up:
            self.close_connection = True
            return
        self._send(reply)

    def _send(self, reply: Reply) -> None:
        data = reply.body if isinstance(reply.body, bytes | str) else json.dumps(reply.body)
        body = data.encode() if isinstance(data, str) else data
        self.send_response(reply.status)
        if "Content-Type" not in reply.headers:
            self.send_header("Content-Type", "application/json; charset=utf-8")
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
