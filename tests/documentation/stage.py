"""Feedletter in this process with a fixed clock, and a browser in front of it.

Nothing of Django is imported here before `set_up` has fixed the clock: imports of `utcnow` or uses of
`timezone.now` after that get the fixed one.
"""

import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests import services
from tests.browsers import ARGUMENTS

# A Friday morning; the five weeks before include a clock change.
MOMENT = datetime(2026, 11, 27, 9, 20, tzinfo=UTC)
ZONE = "Europe/Paris"


class Clock:
    """Clock that is set by hand."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def on(self, **of_time: float) -> datetime:
        """Advance the clock, and return the time."""
        self.now += timedelta(**of_time)
        return self.now


@dataclass
class Stage:
    """Stage. `names`: the URLs shown on pages, each with the port of this machine that serves it."""

    folder: Path
    address: str
    clock: Clock
    names: dict[str, int] = field(default_factory=dict)


def set_up(folder: Path, address: str, sender: str) -> Stage:
    """Create settings, an empty database and one admin. `address` is the site's URL on pages and letters."""
    os.environ.update(
        DJANGO_SETTINGS_MODULE="feedletter_site.settings",
        DATA_DIR=str(folder),
        SECRET_KEY="for-pictures-that-anybody-may-look-at-and-nothing-else",
        SITE_URL=address,
        DEFAULT_FROM_EMAIL=sender,
        EMAIL_URL="mailbox:",
        ALLOW_PRIVATE_NETWORKS="127.0.0.0/8",
        POLL_HOST_GAP="0",
        TIME_ZONE=ZONE,
        DJANGO_ALLOW_ASYNC_UNSAFE="1",
    )
    for name in ("DATABASE_URL", "CELERY_BROKER_URL", "DEBUG"):
        os.environ.pop(name, None)
    clock = Clock(MOMENT)
    stop(clock)
    import django
    from django.core.management import call_command

    django.setup()
    logging.disable(logging.INFO)
    call_command("migrate", verbosity=0)
    return Stage(folder, address, clock)


def stop(clock: Clock) -> None:
    assert "feeds" not in sys.modules, "the program has a clock of its own already"
    import django.utils.timezone

    import common.clock

    common.clock.utcnow = clock
    django.utils.timezone.now = clock


@contextmanager
def served(stage: Stage) -> Iterator[None]:
    """Serve the site at its URL, for browsers of this stage."""
    from django.core.servers.basehttp import ThreadedWSGIServer
    from django.core.wsgi import get_wsgi_application
    from django.test.testcases import QuietWSGIRequestHandler

    server = ThreadedWSGIServer(("127.0.0.1", 0), QuietWSGIRequestHandler, connections_override={})
    server.set_app(get_wsgi_application())
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    stage.names[stage.address] = server.server_port
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def browser(stage: Stage) -> Iterator[Any]:
    """Run Chromium, which finds the stage's URLs on this machine."""
    from playwright.sync_api import sync_playwright

    rules = ", ".join(f"MAP {host_of(name)} 127.0.0.1:{port}" for name, port in stage.names.items())
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=services.chromium(), args=[*ARGUMENTS, f"--host-resolver-rules={rules}"]
        )
        yield launched
        launched.close()


def host_of(address: str) -> str:
    """Return host and port, as in Chromium's rules."""
    host = address.removeprefix("http://").rstrip("/")
    return host if ":" in host else f"{host}:80"
