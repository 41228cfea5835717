"""Server-sent events (HTML standard §9.2.5)."""

import json
from collections.abc import Mapping
from typing import Any

# Proxies cut connections that are idle for a minute.
PING = b": ping\n\n"


def message(name: str, data: Mapping[str, Any], id_: str = "") -> bytes:
    written = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    id_line = f"id: {id_}\n" if id_ else ""
    return f"event: {name}\n{id_line}data: {written}\n\n".encode("utf-8", "replace")


def retry(seconds: int) -> bytes:
    return f"retry: {seconds * 1000}\n\n".encode()
