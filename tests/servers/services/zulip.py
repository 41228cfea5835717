"""Fake Zulip server on loopback: keeps a channel's messages, and shows them as Zulip does."""

import json
import re
import time
from base64 import b64decode
from functools import cache
from html.parser import HTMLParser
from typing import Any

import markdown
from markdown import inlinepatterns

from tests.servers.api_server import ApiServer, Reply, Request

BOT, KEY = "news-bot@chat.example", "zA9fJqv3T0dKx8nWc5RbYh2LmE7sUgPi"
STREAM, STREAM_ID = "2024", 12
MESSAGES = "/api/v1/messages"
# zerver/lib/mention.py, zerver/lib/markdown/__init__.py, fenced_code.py
BEFORE = r"(?<![^\s\'\"\(\{\[\/<])"
LINK_PLACE = 160
SIGNS = {
    "code": (r"`.+?`", 190),
    "mention": (BEFORE + r"@_?(\*\*[^\*]+\*\*|\*[^\*]+\*)", 180),
    "formula": (r"\B(?<!\$)\$\$[^\n_$](\\\$|[^$\n])*\$\$(?!\$)\B", 175),
    "channel": (BEFORE + r"#\*\*[^\*]+\*\*", 170),
    "time": (r"<time:[^>]*?>", 165),
    "address": (
        r"(?<![^\s'\"\(,:<])(https?://[\w.:@-]+|(?:[\w-]+\.)+(?:com|org|net|example)|[\w.-]+@[\w.-]+\.\w+)",
        155,
    ),
    "struck": (r"(?<!~)~~[^~\n]+?~~(?!~)", 55),
    "emoji": (r":[\w\-\+]+:", 50),
}
FENCE = re.compile(r"^[ ]*(`{3,}|~{3,})", re.MULTILINE)


@cache
def engine() -> markdown.Markdown:
    """Return Zulip's choice of Python-Markdown's parts: no escapes, but character references."""
    made = markdown.Markdown(extensions=["nl2br", "tables"])
    for registry, names in (
        (made.inlinePatterns, "escape reference image_link image_reference short_reference short_image_ref"),
        (made.inlinePatterns, "autolink automail linebreak html"),
        (made.parser.blockprocessors, "setextheader reference"),
        (made.preprocessors, "html_block"),
    ):
        for name in names.split():
            registry.deregister(name)
    for name, (pattern, place) in SIGNS.items():
        # Zulip looks for some within the words of links.
        tag = "mark" if place > LINK_PLACE else "u"
        made.inlinePatterns.register(
            inlinepatterns.SimpleTagInlineProcessor(f"()({pattern})", tag), name, place
        )
    return made


class Shown(HTMLParser):
    """Visible `words` and `links` of a message; `bad` is markup that isn't a link."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.words, self.links, self.bad, self.in_link = "", [""][:0], [""][:0], False
        # Widgets and “Ada writes”.
        self.bad += [content[:5]] if content.startswith(("/me ", "/poll", "/todo")) else []
        self.bad += FENCE.findall(content)
        self.feed(engine().reset().convert(content))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name == "href"]
        self.in_link = self.in_link or tag == "a"
        self.bad += [tag] if tag == "mark" or not (self.in_link or tag in ("p", "br")) else []

    def handle_endtag(self, tag: str) -> None:
        self.in_link = self.in_link and tag != "a"

    def handle_data(self, data: str) -> None:
        self.words += data


def error(status: int, code: str, words: str) -> Reply:
    return Reply(status, {"result": "error", "code": code, "msg": words})


def bad(words: str) -> Reply:
    return error(400, "BAD_REQUEST", words)


def success(**more: Any) -> Reply:
    return Reply(body={"result": "success", "msg": "", **more})


BAD_KEY = error(401, "INVALID_API_KEY", "Invalid API key")
NO_STREAM = error(400, "STREAM_DOES_NOT_EXIST", f"Channel '{STREAM}' does not exist")
NO_MESSAGE = bad("Ungültige Nachricht(en)")


class ZulipServer(ApiServer):
    """Zulip server. `may`: what the organization allows bots to do with their messages."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[dict[str, Any]] = []
        self.may = {"PATCH", "DELETE"}

    def usual(self, request: Request) -> Reply:
        if not request.place.startswith("/api/v1/"):
            return Reply(404, "<html>")
        kind, _, login = request.headers.get("authorization", "").partition(" ")
        if kind != "Basic" or b64decode(login).decode() != f"{BOT}:{KEY}":
            return BAD_KEY
        match (request.method, *request.place.removeprefix("/api/v1/").split("/")):
            case ("GET", "users", "me"):
                return success(user_id=7, email=BOT, full_name="News", is_bot=True)
            case ("GET", "get_stream_id"):
                named = request.query.get("stream") == STREAM
                return success(stream_id=STREAM_ID) if named else bad("Ungültiger Kanalname")
            case ("POST", "messages"):
                return self._send(request.form)
            case ("GET", "messages"):
                return self._narrowed(request.query)
            case (method, "messages", number):
                return self._message(method, int(number), request.form)
        return Reply(404, {"result": "error", "msg": "Not found", "code": "RESOURCE_NOT_FOUND"})

    def _send(self, form: dict[str, str]) -> Reply:
        try:
            place = json.loads(form["to"])
        except ValueError:
            place = form["to"]
        if form["type"] not in ("stream", "channel") or place not in (STREAM, STREAM_ID):
            return error(400, "STREAM_DOES_NOT_EXIST", f"Channel '{place}' does not exist")
        topic, content = form["topic"].strip(), form["content"].rstrip().lstrip("\n")
        if not topic or not content or "\x00" in content:
            return bad("Message must not be empty")
        self.messages.append(
            self.message(cut(content, 10_000, "\n[message truncated]"), cut(topic, 60, "..."))
        )
        return success(id=self.messages[-1]["id"])

    def message(self, content: str, topic: str, *, sender: str = BOT, ago: float = 0) -> dict[str, Any]:
        return {
            "id": 4_000 + len(self.messages), "sender_email": sender, "subject": topic, "content": content,
            "display_recipient": STREAM, "timestamp": int(time.time() - ago),
        }  # fmt: skip

    def _narrowed(self, query: dict[str, str]) -> Reply:
        if query["anchor"] != "newest" or query["apply_markdown"] != "false":
            return bad("Invalid anchor")
        wanted = {term["operator"]: term["operand"] for term in json.loads(query["narrow"])}
        found = [
            message
            for message in self.messages
            if (message["sender_email"], message["display_recipient"], message["subject"])
            == (wanted["sender"], wanted["stream"], wanted["topic"])
        ]
        return success(messages=found[-int(query["num_before"]) :], found_newest=True)

    def _message(self, method: str, number: int, form: dict[str, str]) -> Reply:
        found = next((message for message in self.messages if message["id"] == number), None)
        if found is None:
            return NO_MESSAGE
        if method != "GET" and method not in self.may:
            return bad("Die Zeit dafür ist abgelaufen")
        if method == "DELETE":
            self.messages.remove(found)
        if method == "PATCH":
            found["content"] = form["content"].strip() or "(deleted)"
        return success()


def cut(text: str, most: int, end: str) -> str:
    return text if len(text) <= most else text[: most - len(end)] + end
