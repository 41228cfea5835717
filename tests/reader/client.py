"""Microsub client that sends requests like real ones."""

import json
from typing import Any
from urllib.parse import urlencode

from django.test import Client

from reader.models import Reader
from reader.people.tokens import make_token
from tests.factories import NOW


class MicrosubClient:
    """Client: `get` and `post` return status and JSON; `ask` and `do` assert success and return JSON."""

    def __init__(self, reader: Reader, *, key: str | None = None, **token: Any) -> None:
        self.reader = reader
        self.key = key or make_token(reader=reader, client="test", now=NOW, **token)[1]
        self.address = f"/microsub/{reader.slug}"
        self.http = Client()
        self.headers = {"Authorization": f"Bearer {self.key}"}

    def get(self, action: str, **given: Any) -> tuple[int, dict[str, Any]]:
        query = urlencode({"action": action, **given}, doseq=True)
        return _read(self.http.get(f"{self.address}?{query}", headers=self.headers))

    def post(self, action: str, **given: Any) -> tuple[int, dict[str, Any]]:
        return self.send(urlencode({"action": action, **given}, doseq=True))

    def send(
        self, body: str, query: str = "", kind: str = "application/x-www-form-urlencoded"
    ) -> tuple[int, dict[str, Any]]:
        address = self.address + (f"?{query}" if query else "")
        return _read(self.http.post(address, body, content_type=kind, headers=self.headers))

    def ask(self, action: str, **given: Any) -> dict[str, Any]:
        status, answer = self.get(action, **given)
        assert status == 200, answer
        return answer

    def do(self, action: str, **given: Any) -> dict[str, Any]:
        status, answer = self.post(action, **given)
        assert status == 200, answer
        return answer

    def names(self, channel: str = "home", **given: Any) -> list[str]:
        """Return the names of a page's posts."""
        return [one.get("name", "") for one in self.ask("timeline", channel=channel, **given)["items"]]

    def unread(self, channel: str = "home") -> Any:
        return next(one for one in self.ask("channels")["channels"] if one["uid"] == channel).get("unread")


def _read(response: Any) -> tuple[int, dict[str, Any]]:
    assert response["Content-Type"] == "application/json"
    assert response["Access-Control-Allow-Origin"] == "*"
    answer: dict[str, Any] = json.loads(response.content)
    return response.status_code, answer
