from collections.abc import Iterator
from typing import Any

import pytest

from common import shutdown
from common.db import outage
from delivery.engine import claimer
from tests.servers.smtp_server import SmtpServer


@pytest.fixture
def smtp(settings: Any) -> Iterator[SmtpServer]:
    """Run a mail server and point EMAIL_URL at it."""
    with SmtpServer() as server:
        settings.EMAIL_URL = server.url
        yield server


@pytest.fixture
def mailbox(settings: Any) -> None:
    settings.EMAIL_URL = "mailbox:"


@pytest.fixture(autouse=True)
def _fresh_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Reset the process state: no lost database, no request to stop."""
    monkeypatch.setattr(outage, "_lost_at", -outage.NO_REAPING_SECONDS)
    yield
    shutdown.stopping.clear()


@pytest.fixture(params=[pytest.param("near", marks=pytest.mark.slow), "far"])
def _either_sender(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run with the sender in this process, and with the child process."""
    monkeypatch.setattr(claimer, "has_much", lambda lane, now: request.param == "far")
