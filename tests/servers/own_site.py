"""Personal home page that names its IndieAuth server, and that server."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from reader.rules.identity import challenge_of
from tests.servers.feed_server import FeedServer, Reply, Request

JSON = {"Content-Type": "application/json"}
HTML = {"Content-Type": "text/html; charset=utf-8"}


@dataclass
class OwnSite:
    """Site and IndieAuth server of one person.

    Tests may change `metadata`, `rels`, `said` and `tokens` (the valid tokens, each with its introspection
    response).
    """

    server: FeedServer
    path: str = "/ada/"
    rels: dict[str, str] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    # Extra or overriding fields in the response to a code exchange.
    said: dict[str, Any] = field(default_factory=dict)
    tokens: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: dict[str, dict[str, str]] = field(default_factory=dict)
    given: int = 0
    is_down: bool = False

    def __post_init__(self) -> None:
        self.metadata = {
            "issuer": self.url(),
            "authorization_endpoint": self.url("auth"),
            "token_endpoint": self.url("token"),
            "introspection_endpoint": self.url("introspect"),
        }
        self.rels = {"indieauth-metadata": self.url("meta"), "micropub": self.url("micropub")}
        for name, reply in (
            ("", self._page),
            ("meta", lambda request: _json(self.metadata)),
            ("auth", self._exchange),
            ("token", self._token),
            ("introspect", self._introspect),
        ):
            self.server.answer(self.path + name, self._unless_down(reply))

    @property
    def me(self) -> str:
        return self.url()

    def url(self, name: str = "") -> str:
        return self.server.url(self.path + name)

    def says_yes(self, url: str, **instead: str) -> dict[str, str]:
        """Approve the authorization request at `url`; return the query of the redirect back."""
        asked = dict(parse_qsl(urlsplit(url).query))
        self.given += 1
        code = f"code-{self.given}"
        self.asked[code] = asked
        return {"code": code, "state": asked["state"], "iss": self.metadata.get("issuer", ""), **instead}

    def _page(self, request: Request) -> Reply:
        links = "".join(f'<link rel="{rel}" href="{url}">' for rel, url in self.rels.items())
        return Reply(f"<!doctype html><title>Ada</title>{links}<p>Hello".encode(), headers=HTML)

    def _exchange(self, request: Request) -> Reply:
        if request.method == "GET":
            # In a browser, the person approves at once.
            asked = dict(parse_qsl(urlsplit(request.path).query))
            answer = urlencode(self.says_yes(request.path))
            return Reply(status=302, headers={"Location": f"{asked['redirect_uri']}?{answer}"})
        form = dict(parse_qsl(request.body.decode()))
        if form.get("grant_type") == "refresh_token":
            return _json({"access_token": "token-new", "token_type": "Bearer", "me": self.me, **self.said})
        asked = self.asked.pop(form.get("code", ""), {})
        wanted = {name: form.get(name) for name in ("client_id", "redirect_uri")}
        is_proven = challenge_of(form.get("code_verifier", "")) == asked.get("code_challenge")
        if not is_proven or any(asked.get(name) != value for name, value in wanted.items()):
            return _json({"error": "invalid_grant", "error_description": "That code\nis over."}, 400)
        return _json({"me": self.me, **self.said})

    def _token(self, request: Request) -> Reply:
        if request.method == "GET":
            about = self.tokens.get(_bearer(request))
            return _json(about) if about else _json({"error": "invalid_token"}, 401)
        self.said = {"access_token": "token-1", "token_type": "Bearer", "scope": "create media", **self.said}
        return self._exchange(request)

    def _introspect(self, request: Request) -> Reply:
        form = dict(parse_qsl(request.body.decode()))
        if _bearer(request) not in self.tokens:
            return _json({"error": "unauthorized"}, 401)
        return _json({"active": False, **self.tokens.get(form.get("token", ""), {})})

    def _unless_down(self, reply: Callable[[Request], Reply]) -> Callable[[Request], Reply]:
        return lambda request: Reply(b"Down", 502) if self.is_down else reply(request)


def _bearer(request: Request) -> str:
    return request.headers.get("authorization", "").removeprefix("Bearer ")


def _json(about: Mapping[str, Any], status: int = 200) -> Reply:
    return Reply(json.dumps(about).encode(), status, JSON)
