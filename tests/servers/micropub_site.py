"""Micropub server of a personal site, as strict as real ones."""

import json
import re
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

from tests.servers.feed_server import Reply, Request
from tests.servers.own_site import OwnSite

JSON = {"Content-Type": "application/json"}
FORM = "application/x-www-form-urlencoded"
REFERRING = ("in-reply-to", "like-of", "repost-of", "bookmark-of")
Properties = dict[str, list[Any]]


@dataclass
class MicropubSite:
    """Micropub endpoint at the `micropub` address of a site. `scopes` belong to its token.

    With `config` None it answers no queries. `slow` is the delay in seconds between accepting a post and
    responding.
    """

    site: OwnSite
    token: str = "token-1"
    scopes: str = "create media"
    config: dict[str, Any] | None = field(default_factory=dict)
    lists_posts: bool = True
    slow: float = 0.0
    # Scripted reply; with `takes` the request is processed all the same.
    says: Reply | None = None
    takes: bool = False
    posts: list[Properties] = field(default_factory=list)
    files: list[tuple[str, bytes]] = field(default_factory=list)
    published: str = ""

    def __post_init__(self) -> None:
        self.site.server.answer(self.site.path + "micropub", self._micropub)
        self.site.server.answer(self.site.path + "media", self._media)
        self.config = {"media-endpoint": self.site.url("media")}

    def url_of(self, number: int) -> str:
        return self.site.url(f"posts/{number}")

    def _micropub(self, request: Request) -> Reply:
        if refusal := self._unauthorised(request, "create"):
            return refusal
        if request.method == "GET":
            return self._asked(parse_qs(urlsplit(request.path).query))
        if self.says and not self.takes:
            return self.says
        try:
            properties = _properties(request)
        except ValueError as error:
            return _error(400, "invalid_request", str(error))
        if not any(properties.get(name) for name in ("content", "name", "photo", *REFERRING)):
            return _error(400, "invalid_request", "The content is missing.")
        self.posts.append(properties)
        if self.slow:
            self.site.server.pause(self.slow)
        return self.says or Reply(status=201, headers={"Location": f"/ada/posts/{len(self.posts)}"})

    def _asked(self, query: dict[str, list[str]]) -> Reply:
        match query.get("q"):
            case ["config"] if self.config is not None:
                return _json(self.config)
            case ["syndicate-to"] if self.config is not None:
                return _json({"syndicate-to": self.config.get("later-targets", [])})
            case ["source"] if self.lists_posts:
                items = [
                    {
                        "type": ["h-entry"],
                        "properties": {**one, "url": [self.url_of(number)], **self._dated()},
                    }
                    for number, one in enumerate(self.posts, 1)
                ]
                return _json({"items": items[::-1]})
            case _:
                return _error(400, "invalid_request", "What do you want to know?")

    def _dated(self) -> Properties:
        return {"published": [self.published]} if self.published else {}

    def _media(self, request: Request) -> Reply:
        if refusal := self._unauthorised(request, "media"):
            return refusal
        _, files = _parts(request)
        if [name for name, *_ in files] != ["file"]:
            return _error(400, "invalid_request", "Send one file, called file.")
        self.files += [(kind, data) for _, kind, data in files]
        return Reply(status=201, headers={"Location": self.site.url(f"files/{len(self.files)}")})

    def _unauthorised(self, request: Request, scope: str) -> Reply | None:
        shown = request.headers.get("authorization", "")
        if not shown:
            return _error(401, "unauthorized", "Show a token.")
        if shown != f"Bearer {self.token}":
            return _error(403, "forbidden", f"{shown} is not known here.")
        if scope not in self.scopes.split() and request.method == "POST":
            return _error(403, "insufficient_scope", f"The token lacks {scope}.")
        return None


def _properties(request: Request) -> Properties:
    """Parse a request. Raises ValueError if it is not Micropub."""
    kind = request.headers.get("content-type", "").partition(";")[0]
    if kind == "application/json":
        document = json.loads(request.body)
        if document.get("type") != ["h-entry"] or not isinstance(document.get("properties"), dict):
            raise ValueError("It is no h-entry.")
        if any(not isinstance(values, list) for values in document["properties"].values()):
            raise ValueError("Each property has a list of values.")
        return dict(document["properties"])
    if kind == "multipart/form-data":
        pairs, files = _parts(request)
        pairs += [(name, f"{kind} of {len(data)}") for name, kind, data in files]
    elif kind == FORM:
        pairs = parse_qsl(request.body.decode(), keep_blank_values=True)
    else:
        raise ValueError(f"{kind} is not read.")
    found: Properties = {}
    for name, value in pairs:
        if re.search(r"\[.+\]$", name):
            raise ValueError(f"{name} is no property.")
        is_list = name.endswith("[]")
        if name in found and not is_list:
            raise ValueError(f"{name} stands there twice.")
        found.setdefault(name.removesuffix("[]"), []).append(value)
    if found.pop("h", None) != ["entry"]:
        raise ValueError("h is not entry.")
    return found


def _parts(request: Request) -> tuple[list[tuple[str, str]], list[tuple[str, str, bytes]]]:
    """Return the fields, and the files as (name, type, content)."""
    head = f"Content-Type: {request.headers.get('content-type', '')}\r\n\r\n".encode()
    message = BytesParser(policy=HTTP).parsebytes(head + request.body)
    pairs, files = [], []
    for part in message.iter_parts():
        name = str(part.get_param("name", header="content-disposition"))
        data = part.get_payload(decode=True)
        assert isinstance(data, bytes)
        if part.get_filename():
            files.append((name, part.get_content_type(), data))
        else:
            pairs.append((name, data.decode()))
    return pairs, files


def _json(about: Any, status: int = 200) -> Reply:
    return Reply(json.dumps(about).encode(), status, JSON)


def _error(status: int, code: str, words: str) -> Reply:
    return _json({"error": code, "error_description": words}, status)
