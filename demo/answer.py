from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl, urlsplit

HTML, JSON = "text/html; charset=utf-8", "application/json; charset=utf-8"


@dataclass(frozen=True)
class ApiRequest:
    """`url` is the path with its query."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @cached_property
    def path(self) -> str:
        return urlsplit(self.url).path

    @cached_property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.url).query, keep_blank_values=True))

    @property
    def is_foreign(self) -> bool:
        """Whether a page of another site sends it. The demo's pages have no sign-in."""
        origin = self.headers.get("Origin", "")
        return bool(origin) and urlsplit(origin).netloc != self.headers.get("Host")


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """JSON response; None for an empty body."""

    said: Any
    status: int = 200


@dataclass(frozen=True, slots=True)
class PageAnswer:
    body: bytes
    content_type: str = HTML
    status: int = 200
    location: str = ""
    policy: str = ""


NOT_FOUND = ApiAnswer({"error": "Record not found", "message": "404: Not Found", "code": 0}, 404)
