"""Fake Matrix homeserver on loopback: keeps a room's events, as strict as Synapse."""

import json
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote

from tests.contracts.channel import NOW
from tests.servers.api_server import ApiServer, Reply, Request

TOKEN = "syt_Ym90_very-secret-token"
ACCOUNT = "@bot:fake.example"
ROOM, ALIAS = "!room:fake.example", "#news:fake.example"
# From room version 12 on, room ids name no server.
ROOM_12 = "!31hneApxJ_1o-63DmFrpeqnkFfWppnzWso1JvH3ogLM"
API = "/_matrix/client/v3"
LARGEST = 65_536
ALLOWED = {"a": {"href"}, "br": set(), "b": set(), "p": set()}


def error(status: int, code: str, words: str, **more: Any) -> Reply:
    return Reply(status, {"errcode": code, "error": words, **more})


UNKNOWN_TOKEN = error(401, "M_UNKNOWN_TOKEN", "Invalid access token passed.", soft_logout=False)
FORBIDDEN = error(403, "M_FORBIDDEN", f"User {ACCOUNT} not in room {ROOM}")
NOT_FOUND = error(404, "M_NOT_FOUND", "Event not found.")


class Homeserver(ApiServer):
    """Homeserver. `remembers`: it knows past transactions. `largest`: octets of an event."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[dict[str, Any]] = []
        self.redacted: list[str] = []
        self.state: dict[str, dict[str, Any]] = {"m.room.power_levels": {"events_default": 0}}
        self.creator = "@ada:fake.example"
        self.remembers, self.largest, self.joinable = True, LARGEST, True
        self._transactions: dict[str, str] = {}

    def posts(self, request: Request) -> bool:
        return request.method == "PUT"

    def usual(self, request: Request) -> Reply:
        if request.place == "/.well-known/matrix/client":
            return Reply(404, "not here")
        if not request.place.startswith(API):
            return error(404, "M_UNRECOGNIZED", "Unrecognized request")
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return UNKNOWN_TOKEN
        steps = [unquote(step) for step in request.place.removeprefix(API + "/").split("/")]
        match (request.method, *steps):
            case ("GET", "account", "whoami"):
                return Reply(body={"user_id": ACCOUNT, "device_id": "D"})
            case ("POST", "join", room):
                return self._join(room)
            case ("GET", "rooms", room, "state", kind) if room in (ROOM, ROOM_12):
                if kind == "m.room.create" and request.query.get("format") == "event":
                    return Reply(body={"type": kind, "sender": self.creator, "content": self.state[kind]})
                return Reply(body=self.state[kind]) if kind in self.state else NOT_FOUND
            case ("GET", "rooms", room, "messages") if room == ROOM:
                return self._messages(request)
            case ("PUT", "rooms", room, "send", "m.room.message", txn) if room == ROOM:
                return self._send(request, txn)
            case ("PUT", "rooms", room, "redact", event, _) if room == ROOM:
                self.redacted.append(event)
                return Reply(body={"event_id": "$redaction"})
        return FORBIDDEN

    def _join(self, room: str) -> Reply:
        if room == ROOM_12:
            return Reply(body={"room_id": ROOM_12})
        if room not in (ROOM, ALIAS):
            return error(404, "M_NOT_FOUND", f"Room alias {room} not found")
        if not self.joinable:
            return error(403, "M_FORBIDDEN", "You are not invited to this room.")
        return Reply(body={"room_id": ROOM})

    def _messages(self, request: Request) -> Reply:
        wanted = json.loads(request.query.get("filter", "{}"))
        senders = wanted.get("senders", [ACCOUNT])
        found = [event for event in self.events[::-1] if event["sender"] in senders]
        start, limit = int(request.query.get("from", "0")), min(int(request.query["limit"]), 100)
        page = found[start : start + limit]
        end = {"end": str(start + limit)} if page else {}
        return Reply(body={"chunk": page, "start": str(start), **end})

    def _send(self, request: Request, txn: str) -> Reply:
        if self.remembers and txn in self._transactions:
            return Reply(body={"event_id": self._transactions[txn]})
        content = request.json
        if len(request.body) + 500 > self.largest:
            return error(413, "M_TOO_LARGE", "event too large")
        if not isinstance(content.get("body"), str) or "msgtype" not in content:
            return error(400, "M_BAD_JSON", "'body' not in content")
        event_id = f"$event{len(self.events)}"
        self.events.append(self.event(event_id, content))
        self._transactions[txn] = event_id
        return Reply(body={"event_id": event_id})

    def event(self, event_id: str, content: dict[str, Any], sender: str = ACCOUNT) -> dict[str, Any]:
        at = int(NOW.timestamp() * 1000)
        return {
            "event_id": event_id, "type": "m.room.message", "sender": sender, "origin_server_ts": at,
            "content": content,
        }  # fmt: skip


class SeenHtml(HTMLParser):
    """Visible `words` and `links` of a formatted body; `bad` is what clients do not show."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.words, self.links, self.bad = "", [""][:0], [""][:0]
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ALLOWED or {name for name, _ in attrs} - ALLOWED[tag]:
            self.bad.append(tag)
        self.words += "\n" if tag == "br" else ""
        self.links += [value or "" for name, value in attrs if name == "href"]

    def handle_data(self, data: str) -> None:
        self.words += data
