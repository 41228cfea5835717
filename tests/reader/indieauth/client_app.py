"""IndieAuth client that a reader signs in to, step by step from the profile page."""

import re
import secrets
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from django.test import Client

from reader.models import Reader
from reader.rules.identity import challenge_of
from tests.reader.client import MicrosubClient


class ClientApp:
    """Client that knows only the person's URL. `browser` is where the reader is signed in."""

    def __init__(self, reader: Reader, client_id: str, redirect_uri: str = "") -> None:
        self.reader, self.client_id = reader, client_id
        self.redirect_uri = redirect_uri or f"{client_id}back"
        self.http, self.browser = Client(), Client(enforce_csrf_checks=True)
        self.browser.force_login(reader.user)
        self.verifier = secrets.token_urlsafe(48)
        page = self.http.get(f"/@{reader.slug}/")
        self.rels = {rel: url for url, rel in re.findall(r'<([^>]*)>; rel="([^"]*)"', page.headers["Link"])}
        self.metadata: dict[str, Any] = self.http.get(_path(self.rels["indieauth-metadata"])).json()

    def asks(self, scope: str = "read follow channels", **instead: str) -> str:
        """Return the path that it opens in the browser; a parameter of "" is omitted."""
        asked = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "state": "the state",
            "code_challenge": challenge_of(self.verifier),
            "code_challenge_method": "S256",
            "me": f"http://127.0.0.1:8000/@{self.reader.slug}/",
            "scope": scope,
            **instead,
        }
        query = urlencode({name: value for name, value in asked.items() if value})
        return f"{_path(self.metadata['authorization_endpoint'])}?{query}"

    def answered(self, act: str = "allow", *, ticks: list[str] | None = None, **asked: str) -> dict[str, str]:
        """Return the query of the redirect after the reader has pressed a button."""
        page = self.browser.get(self.asks(**asked))
        assert page.status_code == 200, page.headers.get("Location")
        html = page.content.decode()
        action = re.findall(r'<form method="post" action="([^"]*)"', html)[0]
        boxes = re.findall(r'name="scope" value="([^"]*)" checked', html)
        form = {
            "csrfmiddlewaretoken": re.findall(r'name="csrfmiddlewaretoken" value="([^"]*)"', html)[0],
            "scope": boxes if ticks is None else ticks,
            "act": act,
        }
        answer = self.browser.post(unescape(action), form)
        return self.came_back(answer)

    def came_back(self, answer: Any) -> dict[str, str]:
        assert answer.status_code == 302, answer.content
        where, _, query = answer.headers["Location"].partition("?")
        assert where == self.redirect_uri
        found = dict(parse_qsl(query))
        assert found.pop("iss") == self.metadata["issuer"]
        assert found.pop("state") == "the state"
        return found

    def exchange(
        self, code: str, *, at: str = "token_endpoint", **instead: str
    ) -> tuple[int, dict[str, Any]]:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "code_verifier": self.verifier,
            **instead,
        }
        return self.post(at, **form)

    def post(self, at: str, *, key: str = "", **form: str) -> tuple[int, dict[str, Any]]:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        answer = self.http.post(_path(self.metadata[at]), form, headers=headers)
        assert answer["Access-Control-Allow-Origin"] == "*"
        assert "no-store" in answer["Cache-Control"]
        return answer.status_code, answer.json()

    def signed_in(self, scope: str = "read follow channels") -> dict[str, Any]:
        status, given = self.exchange(self.answered(scope=scope)["code"])
        assert status == 200, given
        return given

    def microsub(self, key: str) -> MicrosubClient:
        client = MicrosubClient(self.reader, key=key)
        assert self.rels["microsub"].endswith(client.address)
        return client


def _path(url: str) -> str:
    parts = urlsplit(url)
    assert not parts.query
    return parts.path
