"""`X`, `X[]` and `X[0]` are the same; the body overrides the query; empty texts are absent.

Scopes of Microsub and IndieAuth.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email import message_from_bytes
from email.message import Message
from typing import Any, cast
from urllib.parse import parse_qsl

from common.refused import Refused
from common.text import without_controls

READ, FOLLOW, CHANNELS, MUTE, BLOCK = "read", "follow", "channels", "mute", "block"
SCOPES = (READ, FOLLOW, CHANNELS, MUTE, BLOCK)
# The name, besides the address.
PROFILE = "profile"
GRANTABLE = (*SCOPES, PROFILE)
MAX_VALUES = 1_000
MAX_BODY = 1_000_000
JSON_TYPE = "application/json"
MULTIPART_TYPE = "multipart/form-data"
_INDEXED = re.compile(r"(.+?)\[(\d{0,4})\]")


class BadParameters(Refused):
    """Unreadable request."""


@dataclass(frozen=True, slots=True)
class Parameters:
    values: Mapping[str, tuple[str, ...]]

    def one(self, name: str) -> str:
        return next(iter(self.values.get(name, ())), "")

    def needed(self, name: str) -> str:
        """Raises BadParameters if missing."""
        if value := self.one(name):
            return value
        raise BadParameters(f"The parameter {name} is missing.", name)

    def many(self, name: str) -> tuple[str, ...]:
        return self.values.get(name, ())


def read_parameters(*, query: str, body: bytes, content_type: str, most: int = MAX_VALUES) -> Parameters:
    """Raises BadParameters."""
    given = _grouped(_pairs(query, most))
    kind = content_type.partition(";")[0].strip().lower()
    if body.strip():
        if kind == MULTIPART_TYPE:
            given |= _grouped(_from_multipart(body, content_type, most))
        elif kind == JSON_TYPE:
            given |= _from_json(_utf8(body))
        else:
            given |= _grouped(_pairs(_utf8(body), most))
    if sum(map(len, given.values())) > most:
        raise BadParameters(f"A request can have at most {most:,} values.")
    clean = {name: tuple(filter(None, map(without_controls, values))) for name, values in given.items()}
    return Parameters({name: values for name, values in clean.items() if values})


def _utf8(octets: bytes) -> str:
    try:
        return octets.decode()
    except UnicodeDecodeError as error:
        raise BadParameters("The body isn’t UTF-8.") from error


def _from_multipart(body: bytes, content_type: str, most: int) -> list[tuple[str, str]]:
    """Return form fields (RFC 7578). No call takes files."""
    head = f"Content-Type: {without_controls(content_type)}\r\n\r\n".encode("ascii", "replace")
    try:
        form = message_from_bytes(head + body)
    except RecursionError:
        form = Message()
    if not form.is_multipart():
        raise BadParameters("The body isn’t a form with the boundary that its header names.")
    parts = cast(list[Message], form.get_payload())
    if len(parts) > most:
        raise BadParameters(f"A request can have at most {most:,} values.")
    pairs = []
    for part in parts:
        name, octets = part.get_param("name", header="Content-Disposition"), part.get_payload(decode=True)
        if isinstance(name, str) and isinstance(octets, bytes) and part.get_filename() is None:
            pairs.append((name, _utf8(octets)))
    return pairs


def _pairs(text: str, most: int) -> list[tuple[str, str]]:
    try:
        return parse_qsl(text, keep_blank_values=False, max_num_fields=most + 1)
    except ValueError as error:
        raise BadParameters(f"A request can have at most {most:,} values.") from error


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    groups: dict[str, list[tuple[int, int, str]]] = {}
    for place, (name, value) in enumerate(pairs):
        match = _INDEXED.fullmatch(name)
        number = int(match[2]) if match and match[2] else place
        groups.setdefault(match[1] if match else name, []).append((number, place, value))
    return {name: tuple(value for *_, value in sorted(values)) for name, values in groups.items()}


def _from_json(text: str) -> dict[str, tuple[str, ...]]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadParameters("The body isn’t well-formed JSON.") from error
    if not isinstance(document, dict):
        raise BadParameters("The body isn’t a JSON object.")
    found = {}
    for name, value in document.items():
        values = tuple(_texts(name, value))
        if values:
            match = _INDEXED.fullmatch(name)
            found[match[1] if match else name] = values
    return found


def _texts(name: str, value: Any) -> Iterable[str]:
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, bool):
            yield "true" if item else "false"
        elif isinstance(item, str | int | float):
            if str(item):
                yield str(item)
        elif item is not None:
            raise BadParameters(f"{name} must be a text or a list of texts.")


def known_scopes(asked: Iterable[str]) -> list[str]:
    """Return the grantable ones, in our order."""
    wanted = set(asked)
    return [scope for scope in GRANTABLE if scope in wanted]
