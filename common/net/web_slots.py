"""Limit on web threads that wait for other people's servers.

A web process has eight threads. Without a limit, eight requests to a silent server stop every page.
Workers are not limited: only requests inside `web_request` take a slot.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

SLOTS = 4
RETRY_AFTER_SECONDS = 5
_slots = threading.BoundedSemaphore(SLOTS)


class ServerBusy(Exception):
    """All slots are in use. The caller answers 503 with Retry-After."""

    def __init__(self) -> None:
        super().__init__("The server is looking at too many other sites right now. Try again in a moment.")


class _WebRequest:
    has_slot = False


_current: ContextVar[_WebRequest | None] = ContextVar("web_request", default=None)


@contextmanager
def web_request() -> Iterator[None]:
    """Run a web request. The slot that its first outgoing call takes is released at the end."""
    request = _WebRequest()
    token = _current.set(request)
    try:
        yield
    finally:
        _current.reset(token)
        if request.has_slot:
            _slots.release()


def take_slot() -> None:
    """Take a slot unless this request has one; a no-op outside web requests. Raises ServerBusy.

    Never waits: a thread that waits for a slot is as blocked as one that waits for a server.
    """
    request = _current.get()
    if request is None or request.has_slot:
        return
    if not _slots.acquire(blocking=False):
        raise ServerBusy
    request.has_slot = True
