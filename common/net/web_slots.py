"""Limit on web threads that wait for other servers.

A web process has eight threads, so eight requests to a silent server would block every page. Workers have no
limit.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

SLOTS = 4
RETRY_AFTER_SECONDS = 5
WAITED_SECONDS = 1
_slots = threading.BoundedSemaphore(SLOTS)


class ServerBusy(Exception):
    """Answer 503 with Retry-After."""

    def __init__(self) -> None:
        super().__init__("The server is looking at too many other sites right now. Try again in a moment.")


class _WebRequest:
    has_slot = False


_current: ContextVar[_WebRequest | None] = ContextVar("web_request", default=None)


@contextmanager
def web_request() -> Iterator[None]:
    request = _WebRequest()
    token = _current.set(request)
    try:
        yield
    finally:
        _current.reset(token)
        if request.has_slot:
            _slots.release()


def take_slot() -> None:
    """Take a slot if `web_request` is active, waiting shortly for one. Raises ServerBusy."""
    request = _current.get()
    if request is None or request.has_slot:
        return
    if not _slots.acquire(timeout=WAITED_SECONDS):
        raise ServerBusy
    request.has_slot = True
