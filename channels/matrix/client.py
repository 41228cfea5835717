"""https://spec.matrix.org/latest/client-server-api/"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from typing import Any, Self, TypeVar
from urllib.parse import quote

from channels.http.client import ApiClient, Failed, UnreadableAnswer, an_id
from channels.http.outcomes import ApiService, Verdict
from channels.http.transport import ApiResponse
from common.truncation import FittingPart

# "The complete event MUST NOT be larger than 65536 bytes": the rest is for the servers' data, and for an
# edit, which has the text twice.
LONGEST_CONTENT = 24_000
KEY = "feedletter.key"
T = TypeVar("T")
API = "/_matrix/client/v3"
PAGES, EVENTS_ON_A_PAGE = 5, 100
CLOCKS_DIFFER = timedelta(minutes=10)


def _seconds(answer: ApiResponse) -> float | None:
    """In the body before Matrix 1.10."""
    said = answer.at("retry_after_ms")
    return said / 1000 if isinstance(said, int) else None


MATRIX = ApiService(
    name="a Matrix homeserver",
    words=lambda answer: answer.text_at("error"),
    code=lambda answer: answer.text_at("errcode"),
    verdicts={
        "M_UNKNOWN_TOKEN": Verdict.CREDENTIALS,
        "M_MISSING_TOKEN": Verdict.CREDENTIALS,
        "M_USER_DEACTIVATED": Verdict.DESTINATION,
        "M_FORBIDDEN": Verdict.DESTINATION,
        # Reversible by an administrator.
        "M_USER_LOCKED": Verdict.STOPS,
        "M_USER_SUSPENDED": Verdict.STOPS,
    },
    waits=_seconds,
    advice="Save a valid token of an account that has joined the room and can post there.",
)


class Homeserver:
    """Makes one request per method unless stated otherwise. Raises Failed."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api

    def whoami(self) -> str:
        return self._get("/account/whoami", lambda answer: an_id(answer.at("user_id")))

    def join(self, room: str) -> str:
        place = f"{API}/join/{_in_path(room)}"
        return self._api.call("POST", place, read=lambda answer: an_id(answer.at("room_id")), json={})

    def state(self, room_id: str, kind: str, **options: Any) -> dict[str, Any]:
        place = f"/rooms/{_in_path(room_id)}/state/{kind}"
        try:
            return self._get(place, lambda answer: answer.needed(dict), **options)
        except Failed:
            if self._api.answer.text_at("errcode") == "M_NOT_FOUND":
                return {}
            raise

    def is_encrypted(self, room_id: str) -> bool:
        """Encryption cannot be undone."""
        return bool(self.state(room_id, "m.room.encryption"))

    def post(self, room_id: str, content: dict[str, Any], txn: str) -> str:
        """Return the id. A token's transaction is executed only once."""
        return self._put(f"/rooms/{_in_path(room_id)}/send/m.room.message/{_in_path(txn)}", content)

    def redact(self, room_id: str, event_id: str, txn: str) -> str:
        """Repeatable. Return the redaction's id."""
        place = f"/rooms/{_in_path(room_id)}/redact/{_in_path(event_id)}/{_in_path(txn)}"
        return self._put(place, {})

    def find(self, room_id: str, key: str, *, since: datetime) -> str:
        """Return the id of our event with that key since then, or "".

        Looks at the last 500 events in up to six requests.
        """
        wanted = {"types": ["m.room.message"], "senders": [self.whoami()]}
        query = {"dir": "b", "limit": str(EVENTS_ON_A_PAGE), "filter": json.dumps(wanted)}
        earliest = (since - CLOCKS_DIFFER).timestamp() * 1000
        for _ in range(PAGES):
            events, end = self._get(f"/rooms/{_in_path(room_id)}/messages", _page, params=query)
            for event in events:
                content = event.get("content")
                if isinstance(content, dict) and content.get(KEY) == key:
                    return an_id(event.get("event_id"))
            oldest = events[-1].get("origin_server_ts") if events else None
            if not end or (isinstance(oldest, int) and oldest < earliest):
                break
            query["from"] = end
        return ""

    def _get(self, place: str, read: Callable[[ApiResponse], T], **options: Any) -> T:
        answer: T = self._api.call("GET", API + place, read=read, **options)
        return answer

    def _put(self, place: str, content: dict[str, Any]) -> str:
        return self._api.call(
            "PUT",
            API + place,
            read=lambda answer: an_id(answer.at("event_id")),
            posting=True,
            data=json.dumps(content, ensure_ascii=False).encode("utf-8", "replace"),
        )


def _page(answer: ApiResponse) -> tuple[list[dict[str, Any]], str]:
    """Return events, newest first, and the next page's token."""
    events, end = answer.at("chunk"), answer.at("end")
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise UnreadableAnswer("no events")
    return events, end if isinstance(end, str) else ""


def _in_path(text: str) -> str:
    return quote(text, safe="")


@dataclass(frozen=True, slots=True)
class Notice:
    text: str
    html: str

    @classmethod
    def of(cls, parts: Sequence[FittingPart]) -> Self:
        return cls("".join(map(_text, parts)), "".join(map(_html, parts)))

    @property
    def size(self) -> int:
        return len(json.dumps(self.content(), ensure_ascii=False).encode("utf-8", "replace"))

    def content(self, *, plain: bool = False) -> dict[str, Any]:
        """m.notice is for bots; an empty "m.mentions" notifies nobody."""
        shown = {"msgtype": "m.notice", "body": self.text, "m.mentions": {}}
        if plain:
            return shown
        return {**shown, "format": "org.matrix.custom.html", "formatted_body": self.html}

    def new_content(self, event_id: str) -> dict[str, Any]:
        relation = {"rel_type": "m.replace", "event_id": event_id}
        content = self.content()
        return {**content, "body": f"* {self.text}", "m.new_content": content, "m.relates_to": relation}


def _text(part: FittingPart) -> str:
    return f"{part.text} {part.link}" if part.link and part.link != part.text else part.text


def _html(part: FittingPart) -> str:
    shown = escape(part.text).replace("\n", "<br>")
    return f'<a href="{escape(part.link)}">{shown}</a>' if part.link else shown
