"""Registration of the demo's bot, as an operator does it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from wsgiref.simple_server import WSGIRequestHandler, make_server

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

from chat.registration import register


def register_bot(*, now: datetime) -> None:
    """Register the commands (network). Discord calls back, so the site must be up."""
    with site_up():
        register(now=now)


@contextmanager
def site_up() -> Iterator[None]:
    host, port = settings.BIND
    # Loading all pages takes seconds, and Discord waits for three.
    _ = get_resolver().url_patterns
    with make_server(host.strip("[]"), port, get_wsgi_application(), handler_class=_Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="site", daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass
