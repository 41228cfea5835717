"""A request to one of the demo's services, and its answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """`path` is without its query."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """`said` is sent as JSON; None: there is nothing to say."""

    said: Any
    status: int = 200


NOT_FOUND = ApiAnswer({"error": "Record not found", "message": "404: Not Found", "code": 0}, 404)
