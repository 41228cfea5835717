"""Fake Telegram on loopback: one bot, one chat, strict about HTML and lengths."""

import re
from html import unescape
from typing import Any

from channels.http.links import utf16_units
from tests.servers.api_server import ApiServer, Reply, Request

TOKEN = "123456:bot-token_AbCdEf0123456789"
BOT, CHAT, NAME = 123456, -1001234567890, "bees_news"
MOVED_TO = -1009999999999
_TOKENS = re.compile(r'<a href="([^"<>]*)">|(</a>)|(<)|(>)|&(?:lt|gt|amp|quot|#\d+|#x[0-9a-fA-F]+);|(&)')
# https://core.telegram.org/method/help.getConfig and tdlib's find_mentions: not after a letter.
_MENTION = re.compile(r"(?<!\w)@[a-zA-Z0-9_]{2,}", re.ASCII)


def parsed(html: str) -> tuple[str, list[str]] | None:
    """Return the visible text and the links, or None for HTML that Telegram cannot parse."""
    links: list[str] = []
    depth = 0
    for match in _TOKENS.finditer(html):
        link, closes, *stray = match.groups()
        if any(stray):
            return None
        if link is not None:
            links.append(unescape(link))
        depth += (link is not None) - (closes is not None)
        if depth not in (0, 1):
            return None
    shown = unescape(re.sub(r"<[^<>]*>", "", html))
    return None if depth else (shown, links)


def mentions(text: str) -> list[str]:
    """Return the mentions that Telegram finds in a text."""
    return _MENTION.findall(text)


class Telegram(ApiServer):
    """Telegram. `says` is the reply to every request that makes a message."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[dict[str, Any]] = []
        self.kind = "channel"
        self.member: dict[str, Any] = {"status": "administrator", "can_post_messages": True}
        self.username: str | None = NAME
        self.gets_pictures = self.reads_html = True
        self.has_moved = False

    def posts(self, request: Request) -> bool:
        return request.place.rpartition("/")[2] in ("sendMessage", "sendPhoto")

    def usual(self, request: Request) -> Reply:
        _, token, method = request.place.split("/")
        if token != f"bot{TOKEN}":
            return _error(401, "Unauthorized")
        body = request.json
        if method == "getMe":
            return _result({"id": BOT, "is_bot": True, "username": "bees_bot"})
        if str(body["chat_id"]) not in (str(CHAT), f"@{NAME}", str(MOVED_TO)):
            return _error(400, "Bad Request: chat not found")
        if self.has_moved and str(body["chat_id"]) != str(MOVED_TO):
            words = "Bad Request: group chat was upgraded to a supergroup chat"
            return _error(400, words, {"migrate_to_chat_id": MOVED_TO})
        if method == "getChat":
            return _result({**self._chat(), "title": "Bee <news>"})
        if method == "getChatMember":
            return _result({"user": {"id": body["user_id"]}, **self.member})
        if method.startswith("send"):
            return self._send(method, body)
        return self._change(method, body)

    def _chat(self) -> dict[str, Any]:
        named = {"username": self.username} if self.username else {}
        return {"id": MOVED_TO if self.has_moved else CHAT, "type": self.kind, **named}

    def _send(self, method: str, body: dict[str, Any]) -> Reply:
        field, limit = ("caption", 1024) if method == "sendPhoto" else ("text", 4096)
        if method == "sendPhoto" and not (self.gets_pictures and body["photo"].startswith("http")):
            return _error(400, "Bad Request: failed to get HTTP URL content")
        read = self._read(body, field, limit)
        if isinstance(read, Reply):
            return read
        shown, links = read
        kept = {"message_id": len(self.messages) + 1, "chat": self._chat()}
        self.messages.append({**kept, "shown": shown, "links": links, "body": body, "field": field})
        return _result(kept)

    def _read(self, body: dict[str, Any], field: str, limit: int) -> tuple[str, list[str]] | Reply:
        text = body.get(field, "")
        if "parse_mode" not in body:
            read: tuple[str, list[str]] | None = (text, re.findall(r"https?://[^\s<>\"]+", text))
        else:
            read = parsed(text) if body["parse_mode"] == "HTML" and self.reads_html else None
        if read is None:
            return _error(400, "Bad Request: can't parse entities: Unsupported start tag")
        if not read[0].strip():
            return _error(400, "Bad Request: message text is empty")
        if utf16_units(read[0]) > limit or len(read[1]) > 100:
            return _error(400, "Bad Request: message is too long")
        return read

    def _change(self, method: str, body: dict[str, Any]) -> Reply:
        found = [one for one in self.messages if one["message_id"] == body["message_id"]]
        if method == "deleteMessage":
            if not found:
                return _error(400, "Bad Request: message to delete not found")
            self.messages.remove(found[0])
            return Reply(body={"ok": True, "result": True})
        field = {"editMessageText": "text", "editMessageCaption": "caption"}[method]
        if not found:
            return _error(400, "Bad Request: message to edit not found")
        message = found[0]
        if field != message["field"]:
            return _error(400, f"Bad Request: there is no {field} in the message to edit")
        read = self._read(body, field, 4096 if field == "text" else 1024)
        if isinstance(read, Reply):
            return read
        if read == (message["shown"], message["links"]):
            return _error(400, "Bad Request: message is not modified: specified new message content")
        message["shown"], message["links"] = read
        return _result({"message_id": message["message_id"], "chat": message["chat"]})


def _result(result: dict[str, Any]) -> Reply:
    return Reply(body={"ok": True, "result": result})


def _error(status: int, description: str, parameters: dict[str, Any] | None = None) -> Reply:
    more = {"parameters": parameters} if parameters else {}
    return Reply(status, {"ok": False, "error_code": status, "description": description, **more})
