"""Every bridge, from the queue to its service and back, by the engine and on the rows themselves."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.db import connection

from channels.base import CrashPolicy
from common.clock import utcnow
from delivery.engine.send_pass import send_due
from delivery.models import Delivery, RemotePost
from tests.contracts.bridge import BridgeContract
from tests.contracts.channel import Answer
from tests.delivery.background import wait_until
from tests.delivery.engine.bridge_contracts import (
    a_bridge_of,
    at_its_service,
    contracts,
    look_every_two_minutes,
    publish_posts,
)
from tests.delivery.ledger import Clock
from tests.e2e.processes import running
from tests.examples import some_now
from tests.servers.api_server import Reply

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback_allowed")]


every_bridge = pytest.mark.parametrize(
    "contract", some_now(contracts()), ids=lambda contract: contract.__name__
)


@every_bridge
def test_an_issue_arrives_once_and_where_it_stands_is_kept(contract: type[BridgeContract]) -> None:
    with at_its_service(contract) as bridge:
        # The real time: receivers of webhooks refuse old calls.
        start = utcnow()
        row = publish_posts(a_bridge_of(bridge), start)
        look_every_two_minutes(start)
        row.refresh_from_db()
        assert (row.state, row.last_error) == ("sent", "")
        assert len(bridge.arrived()) == 1
        remote = RemotePost.objects.filter(delivery=row).first()
        assert remote is None or not remote.url or remote.url.startswith(("https://", "http://"))


@every_bridge
def test_what_a_service_will_never_take_is_said_on_the_delivery(contract: type[BridgeContract]) -> None:
    with at_its_service(contract) as bridge:
        if Answer.REFUSED in contract.not_applicable:
            pytest.skip(contract.not_applicable[Answer.REFUSED])
        row = publish_posts(a_bridge_of(bridge), start := utcnow())
        bridge.server_says(Answer.REFUSED)
        send_due(clock=Clock(start))
        row.refresh_from_db()
        assert row.state == "failed"
        assert row.last_error
        assert row.destination.disabled_at is None
        assert not any(secret in row.last_error for secret in contract.secrets)


def assert_nobody_got_it_twice(bridge: Any, row: Delivery) -> None:
    """Assert the outcome that the channel's crash policy prescribes."""
    row.refresh_from_db()
    is_held = bridge.channel.crash_policy is CrashPolicy.HOLD
    assert (row.state, bool(row.last_error)) == (("held", True) if is_held else ("sent", False))
    assert len({arrival.identity for arrival in bridge.arrived()}) == 1
    assert not any(secret in row.last_error for secret in bridge.secrets)


@every_bridge
def test_a_post_whose_answer_was_lost_stands_there_once(contract: type[BridgeContract]) -> None:
    with at_its_service(contract) as bridge:
        row = publish_posts(a_bridge_of(bridge), start := utcnow())
        bridge.service.says = Reply(takes=True, hangs_up=True)
        send_due(clock=Clock(start))
        bridge.service.says = None
        look_every_two_minutes(start + timedelta(minutes=5))
        assert_nobody_got_it_twice(bridge, row)


@pytest.mark.parametrize("contract", some_now(contracts()))
def test_a_post_whose_worker_was_killed_stands_there_once(
    contract: type[BridgeContract], tmp_path: Path
) -> None:
    """The process is killed after the service accepted the post, and before it responded."""
    with at_its_service(contract) as bridge:
        row = publish_posts(a_bridge_of(bridge), start := utcnow())
        bridge.service.says = Reply(takes=True, silent=True)
        with worker_beside(tmp_path, **bridge.settings()) as worker:
            wait_until(lambda: bool(bridge.arrived()), seconds=60)
            worker.kill()
        row.refresh_from_db()
        assert row.state == "sending"
        bridge.service.says = None
        look_every_two_minutes(start + timedelta(minutes=5))
        assert_nobody_got_it_twice(bridge, row)


@contextmanager
def worker_beside(logs: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process that sends what is due in the test's database."""
    database = connection.settings_dict
    path = f"/{database['NAME']}"
    url = f"sqlite://{path}"
    if connection.vendor == "postgresql":
        url = urlsplit(os.environ["DATABASE_URL"])._replace(path=path).geturl()
    ours = {"DATABASE_URL": url, "SECRET_KEY": settings.SECRET_KEY, "ALLOW_PRIVATE_NETWORKS": "127.0.0.1/32"}
    with running("send", [sys.executable, "manage.py", "send"], {**ours, **environment}, logs) as worker:
        yield worker
