from collections.abc import Iterator
from typing import Any

import pytest

from common import shutdown
from common.db import outage
from delivery.engine import lane_pool
from tests.servers.smtp_server import SmtpServer


@pytest.fixture
def smtp(settings: Any) -> Iterator[SmtpServer]:
    """A mail server, and EMAIL_URL leads to it."""
    with SmtpServer() as server:
        settings.EMAIL_URL = server.url
        yield server


@pytest.fixture
def mailbox(settings: Any) -> None:
    settings.EMAIL_URL = "mailbox:"


@pytest.fixture(autouse=True)
def _fresh_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As after a start: the database was never lost, nobody asked us to stop."""
    monkeypatch.setattr(outage, "_lost_at", -outage.NO_REAPING_SECONDS)
    yield
    shutdown.stopping.clear()


@pytest.fixture(params=[pytest.param("near", marks=pytest.mark.slow), "far"])
def _either_sender(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mail goes out by this process's own loop, and by the child process."""
    monkeypatch.setattr(lane_pool, "has_much", lambda lane, now: request.param == "far")
