"""Google Reader API client for tests of single calls."""

import json
from typing import Any
from urllib.parse import quote, urlencode

from django.test import Client

from reader.models import Reader
from reader.people.tokens import key_for, make_app_password
from tests.factories import NOW

READING_LIST = "user/-/state/com.google/reading-list"
READ, UNREAD = "user/-/state/com.google/read", "user/-/state/com.google/kept-unread"
STARRED = "user/-/state/com.google/starred"
FORM = "application/x-www-form-urlencoded"


class GoogleApp:
    """Client: `get` and `post` return status and text; `ask` JSON; `do` asserts OK."""

    def __init__(self, reader: Reader, *, base: str = "/api/greader.php") -> None:
        self.password, self.typed = make_app_password(reader=reader, app="test", now=NOW)
        self.base = f"{base}/reader/api/0"
        self.http = Client()
        self.headers = {"Authorization": f"GoogleLogin auth={key_for(self.password)}"}

    def get(self, call: str, **given: Any) -> tuple[int, str]:
        query = urlencode(given, doseq=True)
        return _read(self.http.get(f"{self.base}/{call}?{query}", headers=self.headers))

    def post(self, call: str, **given: Any) -> tuple[int, str]:
        body = urlencode(given, doseq=True)
        return _read(self.http.post(f"{self.base}/{call}", body, content_type=FORM, headers=self.headers))

    def send(self, call: str, octets: bytes) -> tuple[int, str]:
        """Send a file unchanged; apps label it a form, as HTTP clients do by default."""
        return _read(self.http.post(f"{self.base}/{call}", octets, content_type=FORM, headers=self.headers))

    def ask(self, call: str, **given: Any) -> Any:
        status, text = self.get(call, output="json", **given)
        assert status == 200, text
        return json.loads(text)

    def do(self, call: str, **given: Any) -> None:
        assert self.post(call, **given) == (200, "OK"), call

    def ids(self, stream: str = READING_LIST, **given: Any) -> list[int]:
        """Return the ids of a stream's posts, from all pages."""
        found: list[int] = []
        while True:
            page = self.ask("stream/items/ids", s=stream, **given)
            found += [int(one["id"]) for one in page["itemRefs"]]
            if "continuation" not in page:
                return found
            given["c"] = page["continuation"]

    def contents(self, *posts: int, **given: Any) -> list[dict[str, Any]]:
        status, text = self.post("stream/items/contents", i=posts, **given)
        assert status == 200, text
        items: list[dict[str, Any]] = json.loads(text)["items"]
        return items

    def labels(self) -> dict[str, list[str]]:
        """Return the folders of each feed, by its URL."""
        return {
            one["url"]: [label["label"] for label in one["categories"]]
            for one in self.ask("subscription/list")["subscriptions"]
        }


def label(name: str) -> str:
    return f"user/-/label/{name}"


def stream_path(stream: str) -> str:
    return f"stream/contents/{quote(stream, safe='')}"


def _read(response: Any) -> tuple[int, str]:
    assert response["Access-Control-Allow-Origin"] == "*"
    assert response["Content-Type"].split(";")[0] in ("application/json", "application/xml", "text/plain")
    return response.status_code, response.content.decode()
