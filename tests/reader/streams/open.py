"""Event streams as clients read them, without a server in between."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.core.signals import request_finished
from django.db import close_old_connections
from django.http import StreamingHttpResponse


@contextmanager
def streamed(response: Any) -> Iterator[Callable[[], list[tuple[str, str, dict[str, Any]]]]]:
    """Yield a function that reads the next events as (name, id, data); [] at the end."""
    assert isinstance(response, StreamingHttpResponse), response.content
    assert response.headers["Content-Type"] == "text/event-stream; charset=utf-8"
    assert response.headers["X-Accel-Buffering"] == "no"
    pieces: Iterator[bytes] = response._iterator  # type: ignore[attr-defined]

    def read() -> list[tuple[str, str, dict[str, Any]]]:
        for piece in pieces:
            if events := events_of(bytes(piece).decode()):
                return events
        return []

    try:
        yield read
    finally:
        close(response)


def close(response: Any) -> None:
    """Close the stream as a server does, but keep the test's database connection."""
    # Django's client has wrapped it: once it was begun, its end closes the response.
    response._iterator.close()
    if response.closed:
        return
    request_finished.disconnect(close_old_connections)
    try:
        response.close()
    finally:
        request_finished.connect(close_old_connections)


def events_of(text: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Parse events; ignore other lines."""
    found = []
    for block in text.split("\n\n"):
        lines = dict(re.findall(r"^(event|id|data): (.*)$", block, re.MULTILINE))
        if "event" in lines:
            found.append((lines["event"], lines.get("id", ""), json.loads(lines["data"])))
    return found
