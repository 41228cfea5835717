"""https://feedhq.readthedocs.io/en/latest/api/terminology.html"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from reader.rules.order import LARGEST_KEY

POST_PREFIX = "tag:google.com,2005:reader/item/"
POST_DIGITS = 16
_LONG_POST = re.compile(rf"(?:{re.escape(POST_PREFIX)})?([0-9a-fA-F]{{1,16}})", re.ASCII)
_DECIMAL = re.compile(r"[0-9]{1,19}", re.ASCII)
_STREAM = re.compile(
    r"(?:feed/)+(?P<feed>.+)"
    r"|user/[^/]*/label/(?P<label>.+)"
    r"|(?:user/[^/]*/state/com\.google/)?(?P<state>[a-z-]{1,40})",
    re.DOTALL,
)
Kind = Literal["feed", "label", "state"]
PREFIXES: Mapping[Kind, str] = {
    "feed": "feed/",
    "label": "user/-/label/",
    "state": "user/-/state/com.google/",
}


@dataclass(frozen=True, slots=True)
class StreamName:
    """Feed by key or address, folder by name, or state."""

    kind: Kind
    value: str

    def __str__(self) -> str:
        return f"{PREFIXES[self.kind]}{self.value}"


READING_LIST = StreamName("state", "reading-list")
READ = StreamName("state", "read")
UNREAD = StreamName("state", "unread")
KEPT_UNREAD = StreamName("state", "kept-unread")
TRACKING_UNREAD = StreamName("state", "tracking-kept-unread")
STARRED = StreamName("state", "starred")


def post_name(key: int) -> str:
    return f"{POST_PREFIX}{key:016x}"


def post_key(name: str) -> int | None:
    """Return the key for a long, hex or decimal name, if valid.

    Some clients omit leading zeros of hex digits.
    """
    match = _LONG_POST.fullmatch(name)
    # Decimal names have no leading zero.
    is_padded = len(name) == POST_DIGITS and name[0] == "0"
    if match and (name.startswith(POST_PREFIX) or is_padded or not name.isdigit()):
        key = int(match[1], 16)
    elif _DECIMAL.fullmatch(name):
        key = int(name)
    else:
        return None
    return key if 0 < key <= LARGEST_KEY else None


def stream_name(text: str) -> StreamName | None:
    """`user/-/` equals `user/<id>/`."""
    match = _STREAM.fullmatch(text.strip())
    if match is None or match.lastgroup is None:
        return None
    kind: Kind = "feed" if match["feed"] else "label" if match["label"] else "state"
    return StreamName(kind, match[kind])
