"""Clients of the Google Reader API that send the requests of real apps."""

import re
from typing import Any
from urllib.parse import quote

import requests

READING_LIST = "user/-/state/com.google/reading-list"
READ, STARRED = "user/-/state/com.google/read", "user/-/state/com.google/starred"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
LONG = "tag:google.com,2005:reader/item/"


class App:
    """App with a connection to the URL that its user typed. `calls` counts requests."""

    def __init__(self, address: str, name: str, password: str) -> None:
        self.address, self.calls = address, 0
        self.http = requests.Session()
        self.sign_in(name, password)

    def sign_in(self, name: str, password: str) -> None:
        text = self.send(
            "POST", "/accounts/ClientLogin", f"Email={quote(name)}&Passwd={quote(password)}"
        ).text
        self.http.headers["Authorization"] = "GoogleLogin auth=" + str(re.search(r"Auth=(\S+)", text)[1])  # type: ignore[index]

    def send(self, method: str, path: str, body: str | None = None, **headers: str) -> requests.Response:
        self.calls += 1
        kind = FORM if body is not None else {}
        url = self.address + path
        answer = self.http.request(method, url, data=body, headers={**kind, **headers}, timeout=60)
        assert answer.status_code in (200, 304), (path, answer.status_code, answer.text)
        return answer

    def get(self, path: str) -> Any:
        return self.send("GET", f"/reader/api/0/{path}").json()


class NetNewsWire(App):
    """A thousand ids a page, 150 posts by long ids, one thousand marks; a token for each change."""

    def sign_in(self, name: str, password: str) -> None:
        super().sign_in(name, password)
        self.token = self.send("GET", "/reader/api/0/token").text.strip()
        self.asked_at = 0

    def ids(self, stream: str, **given: str | int) -> list[str]:
        query = "".join(f"&{key}={value}" for key, value in given.items())
        address, found, more = f"stream/items/ids?n=1000&output=json&s={stream}{query}", [], ""
        while True:
            page = self.get(address + more)
            found += [str(int(one["id"])) for one in page["itemRefs"]]
            if "continuation" not in page:
                return found
            more = f"&c={page['continuation']}"

    def posts(self, ids: list[str]) -> list[dict[str, Any]]:
        found = []
        for start in range(0, len(ids), 150):
            named = "&".join(f"i={LONG}{int(one):016x}" for one in ids[start : start + 150])
            body = f"T={self.token}&output=json&{named}"
            page = self.send("POST", "/reader/api/0/stream/items/contents", body).json()
            assert isinstance(page["updated"], int)
            for one in page["items"]:
                assert isinstance(one["summary"], dict), "it decodes no post without"
                assert one["origin"]
                assert isinstance(one["categories"], list)
            found += page["items"]
        return found

    def mark(self, ids: list[str], way: str, state: str) -> None:
        for start in range(0, len(ids), 1_000):
            named = "&".join(f"i={LONG}{int(one):016x}" for one in ids[start : start + 1_000])
            body = f"T={self.token}&{named}&{way}={state}"
            assert self.send("POST", "/reader/api/0/edit-tag", body).text == "OK"


class Capy(App):
    """Ten thousand ids a page; posts a hundred at a time, by three connections (here: one)."""

    def unread(self) -> list[str]:
        found, more = [], ""
        while True:
            page = self.get(
                f"stream/items/ids?s={quote(READING_LIST)}&n=10000&xt={quote(READ)}&output=json{more}"
            )
            found += [f"{int(one['id']):016x}" for one in page["itemRefs"]]
            if not page.get("continuation"):
                return found
            more = f"&c={page['continuation']}"

    def posts(self, ids: list[str]) -> list[dict[str, Any]]:
        found = []
        for start in range(0, len(ids), 100):
            named = "&".join(f"i={quote(LONG + one, safe='')}" for one in ids[start : start + 100])
            for one in self.send("POST", "/reader/api/0/stream/items/contents?output=json", named).json()[
                "items"
            ]:
                assert isinstance(one["published"], int)
                assert isinstance(one["title"], str)
                assert all(link["href"] is not None for link in one["canonical"])
                assert {"streamId", "htmlUrl", "title"} <= one["origin"].keys()
                found.append(one)
        return found


class FluentReader(App):
    """Pages of a thousand while they are full; new posts by the newest's time; no tokens."""

    def sign_in(self, name: str, password: str) -> None:
        super().sign_in(name, password)
        self.last_fetched = 0
        self.last_id = ""

    def unread(self) -> set[str]:
        found: list[str] = []
        more = ""
        while True:
            page = self.get(f"stream/items/ids?output=json&s={READING_LIST}&xt={READ}&n=1000{more}")
            found += [one["id"] for one in page["itemRefs"]]
            more = f"&c={page.get('continuation', '')}"
            if "continuation" not in page or len(page["itemRefs"]) < 1_000:
                return set(found)

    def fetch(self, limit: int) -> list[dict[str, Any]]:
        """Return new posts, down to the newest known one."""
        found: list[dict[str, Any]] = []
        more = ""
        while True:
            since = f"&ot={self.last_fetched}" if self.last_fetched else ""
            page = self.get(f"stream/contents?output=json&n={min(limit - len(found), 1_000)}{since}{more}")
            for one in page["items"]:
                one["id"] = str(int(one["id"].rpartition("/")[2], 16))
                if one["id"] == self.last_id or len(found) >= limit:
                    break
                found.append(one)
            more = f"&c={page.get('continuation', '')}"
            if "continuation" not in page or len(found) >= limit:
                break
        if found:
            self.last_id = found[0]["id"]
            self.last_fetched = round(int(found[0]["crawlTimeMsec"]) / 1_000)
        return found


class Newsboat(App):
    """Feed by feed, by the feed's name within the URL."""

    def feeds(self) -> dict[str, list[dict[str, Any]]]:
        listed = self.get("subscription/list?output=json")["subscriptions"]
        return {
            one["title"]: self.get(f"stream/contents/{quote(one['id'], safe='')}?n=20")["items"]
            for one in listed
        }

    def mark(self, post: str, *, is_read: bool) -> None:
        token = self.send("GET", "/reader/api/0/token").text
        state = "user/-/state/com.google"
        way = f"a={state}/read&r={state}/kept-unread"
        if not is_read:
            way = f"r={state}/read&a={state}/kept-unread&a={state}/tracking-kept-unread"
        answer = self.send("POST", "/reader/api/0/edit-tag", f"i={post}&{way}&ac=edit&T={token}")
        assert answer.text == "OK"
