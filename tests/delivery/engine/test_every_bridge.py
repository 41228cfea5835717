"""Every bridge's way from the ledger to its service and back, by the engine and on the rows themselves."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.db import connection
from django.test import override_settings

from common.clock import utcnow
from delivery.channels.base import CrashPolicy
from delivery.channels.pictures import forget_pictures
from delivery.engine.send_pass import send_due
from delivery.issues.publish import publish
from delivery.models import Account, Delivery, RemotePost
from subscriptions.models import Subscribable
from tests.contracts.bridge import BridgeContract
from tests.contracts.channel import Answer
from tests.delivery.background import wait_until
from tests.delivery.ledger import Clock
from tests.e2e.processes import running
from tests.examples import some_now
from tests.factories import BridgeFactory, DestinationFactory, SubscriptionFactory, an_issue
from tests.servers.api_server import Reply

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback_allowed")]


def contracts() -> Iterator[type[BridgeContract]]:
    """Those of all bridges."""
    for file in sorted((Path(__file__).parents[1] / "channels").glob("*/test_*_contract.py")):
        module = import_module(".".join(file.with_suffix("").parts[-5:]))
        for name, found in vars(module).items():
            if name.startswith("Test") and isinstance(found, type) and issubclass(found, BridgeContract):
                yield found


@contextmanager
def at_its_service(contract: type[BridgeContract]) -> Iterator[Any]:
    """The contract with its fake service running, to which destinations or settings lead."""
    made: Any = contract()
    with made.server() as made.service, made.server() as made.private:
        made.url = made.service.url
        # Fakes that date what they keep live in the engine's time.
        made.service.now = utcnow()
        with override_settings(**made.settings()):
            yield made


def an_issue_to(contract: Any, now: datetime) -> Delivery:
    to = contract.recipient()
    newsletter: Subscribable = BridgeFactory(channel=contract.channel.key, options=dict(contract.options))
    kept = {"config": dict(to.config), "secrets": dict(to.secrets)}
    destination = DestinationFactory(kind=contract.channel.key, core=to.core, label=to.label, **kept)
    if name := contract.channel.shared_account(to.core):
        # Its fields are one secret, in all bots' accounts the token.
        secrets: Any = {"token": contract.secrets[0]}
        Account.objects.create(name=name, kind=contract.channel.key, secrets=secrets)
    SubscriptionFactory(subscribable=newsletter, destination=destination)
    publish(issue_id=an_issue(posts=1, subscribable=newsletter, published_at=None).pk, now=now)
    return Delivery.objects.get()


every_bridge = pytest.mark.parametrize("contract", list(contracts()), ids=lambda contract: contract.__name__)


def look_every_two_minutes(start: datetime, times: int = 4) -> None:
    for number in range(times):
        send_due(clock=Clock(start + timedelta(minutes=2 * number)))


@every_bridge
def test_an_issue_arrives_once_and_where_it_stands_is_kept(contract: type[BridgeContract]) -> None:
    forget_pictures()
    with at_its_service(contract) as bridge:
        # Of now: receivers of webhooks refuse what is old.
        start = utcnow()
        row = an_issue_to(bridge, start)
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
        row = an_issue_to(bridge, start := utcnow())
        bridge.server_says(Answer.REFUSED)
        send_due(clock=Clock(start))
        row.refresh_from_db()
        assert row.state == "failed"
        assert row.last_error
        assert row.destination.disabled_at is None
        assert not any(secret in row.last_error for secret in contract.secrets)


def assert_nobody_got_it_twice(bridge: Any, row: Delivery) -> None:
    """What became of it is as the channel's crash policy says."""
    row.refresh_from_db()
    is_held = bridge.channel.crash_policy is CrashPolicy.HOLD
    assert (row.state, bool(row.last_error)) == (("held", True) if is_held else ("sent", False))
    assert len({arrival.identity for arrival in bridge.arrived()}) == 1
    assert not any(secret in row.last_error for secret in bridge.secrets)


@every_bridge
def test_a_post_whose_answer_was_lost_stands_there_once(contract: type[BridgeContract]) -> None:
    forget_pictures()
    with at_its_service(contract) as bridge:
        row = an_issue_to(bridge, start := utcnow())
        bridge.service.says = Reply(takes=True, hangs_up=True)
        send_due(clock=Clock(start))
        bridge.service.says = None
        look_every_two_minutes(start + timedelta(minutes=5))
        assert_nobody_got_it_twice(bridge, row)


@pytest.mark.parametrize("contract", some_now(contracts(), every=4))
def test_a_post_whose_worker_was_killed_stands_there_once(
    contract: type[BridgeContract], tmp_path: Path
) -> None:
    """A process that is killed after the service took the post, and before it answered."""
    forget_pictures()
    with at_its_service(contract) as bridge:
        row = an_issue_to(bridge, start := utcnow())
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
    """A process of its own that sends what is due in the test's database."""
    database = connection.settings_dict
    path = f"/{database['NAME']}"
    url = f"sqlite://{path}"
    if connection.vendor == "postgresql":
        url = urlsplit(os.environ["DATABASE_URL"])._replace(path=path).geturl()
    ours = {"DATABASE_URL": url, "SECRET_KEY": settings.SECRET_KEY, "ALLOW_PRIVATE_NETWORKS": "127.0.0.1/32"}
    with running("send", [sys.executable, "manage.py", "send"], {**ours, **environment}, logs) as worker:
        yield worker
