"""Every bridge, from the queue to its service and back, by the engine and on the rows themselves.

Every service with editable posts: posts are edited and deleted there, end to end.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.db import connection

from channels import channel
from channels.base import CrashPolicy, Deletes, Edits, LaneFacts
from channels.bridge import Bridge
from channels.pictures import forget_pictures
from common.clock import utcnow
from common.ports import channels
from delivery.engine.send_pass import send_due
from delivery.models import Delivery, RemotePost
from subscriptions.models import Destination
from tests.contracts.bridge import PATIENT, BridgeContract
from tests.contracts.channel import Answer
from tests.delivery.background import wait_until
from tests.delivery.corrected import BOTH, BridgedBlog, changes, dated
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
from tests.factories import DestinationFactory, SubscriptionFactory
from tests.feeds.watched import at
from tests.servers.api_server import Reply
from tests.servers.feed_server import FeedServer

A, CORRECTED = (dated("a", 10, title=title) for title in ("Bee hotels", "Bee hotels, corrected"))
# The posts at the fake service, as people see them; for a webhook, its calls.
STANDS: dict[str, Callable[[Any], list[Any]]] = {
    "mastodon": lambda service: [status["text"] for status in service.statuses],
    "discord": lambda service: [str(message) for message in service.messages],
    "discord_bot": lambda service: [str(message) for message in service.messages],
    "telegram": lambda service: [message["shown"] for message in service.messages],
    "ntfy": lambda service: [str(push) for push in service.shown.values()],
    "bluesky": lambda service: [str(record) for record in service.records.values()],
    "webhook": lambda service: [call["data"]["text"] for call in service.calls.values()],
    "matrix": lambda service: _events(service),
    "zulip": lambda service: [message["content"] for message in service.messages],
}
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


def _events(service: Any) -> list[str]:
    """Return each event in its latest version."""
    shown: dict[str, str] = {}
    for event in service.events:
        relation = event["content"].get("m.relates_to", {})
        if relation.get("rel_type") == "m.replace":
            shown[relation["event_id"]] = event["content"]["m.new_content"]["body"]
        else:
            shown[event["event_id"]] = event["content"]["body"]
    return [words for event_id, words in shown.items() if event_id not in service.redacted]


def changing(protocol: type) -> list[Any]:
    """Return one contract for each service that can do it."""
    flag = "edits" if protocol is Edits else "deletes"
    found: dict[str, Any] = {}
    for contract in contracts():
        key = contract.channel.key
        if getattr(channels.get(key), flag):
            found.setdefault(key, pytest.param(contract, id=key))
    return list(found.values())


@contextmanager
def bridged(
    contract: type[BridgeContract], monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[BridgedBlog, Any]]:
    """Yield a blog with a bridge to the fake service, where its post A is published."""
    forget_pictures()
    made: Any = contract()
    with made.server() as made.service, made.server() as made.private, FeedServer() as server:
        made.url = made.service.url
        for name, value in made.settings().items():
            monkeypatch.setattr(f"django.conf.settings.{name}", value)
        monkeypatch.setattr(channel(made.channel.key), "connect", lambda lane: made.connected(PATIENT))
        blog = BridgedBlog(server)
        blog.watch()
        blog.read(0)

        class Clock(datetime):
            """Clock of the receivers of webhooks, which refuse old calls."""

            @classmethod
            def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
                return at(blog.minute)

        monkeypatch.setattr("standardwebhooks.webhooks.datetime", Clock)
        to = made.recipient()
        offered = {name: "on" for name in BOTH if name in _options(made)}
        bridge = blog.bridge(made.channel.key, **made.options, **offered)
        destination = DestinationFactory(
            kind=made.channel.key, core=to.core, label=to.label, config=to.config, secrets=to.secrets
        )
        SubscriptionFactory(subscribable=bridge, destination=destination)
        blog.new(A)
        blog.pass_by(20, 40, 60)
        [words] = STANDS[made.channel.key](made.service)
        assert "Bee hotels" in words
        yield blog, made.service


def _options(contract: BridgeContract) -> set[str]:
    return {field.name for field in channels.get(contract.channel.key).option_fields}


def stands(service: Any, contract: type[BridgeContract]) -> list[Any]:
    return STANDS[contract.channel.key](service)


def written(service: Any) -> int:
    """Return the number of requests that change anything."""
    return sum(request.method != "GET" for request in service.requests)


@pytest.mark.django_db
def test_what_a_kind_says_of_its_service_is_what_its_sessions_can() -> None:
    for kind in channels.bridge_kinds():
        session = channel(kind.key).connect(LaneFacts(kind.key, "account"))
        assert isinstance(kind, Bridge)
        assert (kind.edits, kind.deletes) == (isinstance(session, Edits), isinstance(session, Deletes))
        session.close()


@pytest.mark.parametrize("contract", some_now(changing(Edits)))
def test_a_correction_edits_what_stands_there_once(
    contract: type[BridgeContract], monkeypatch: pytest.MonkeyPatch
) -> None:
    with bridged(contract, monkeypatch) as (blog, service):
        before = written(service)
        blog.new(CORRECTED)
        blog.pass_by(70, 90, 100, 110)
        *_, words = stands(service, contract)
        assert "Bee hotels, corrected" in words
        assert written(service) == before + 1
        assert len(stands(service, contract)) == (2 if contract.channel.key == "webhook" else 1)
        assert changes() == [("edit", "sent", "")]


@pytest.mark.parametrize("contract", some_now(changing(Deletes)))
def test_what_is_withdrawn_is_deleted_there(
    contract: type[BridgeContract], monkeypatch: pytest.MonkeyPatch
) -> None:
    with bridged(contract, monkeypatch) as (blog, service):
        blog.new()
        blog.pass_by(70, 100, 140, 150)
        assert stands(service, contract) == []
        assert changes() == [("delete", "sent", "")]


@pytest.mark.slow
@pytest.mark.parametrize("contract", some_now(changing(Edits)))
def test_an_edit_that_comes_too_fast_waits(
    contract: type[BridgeContract], monkeypatch: pytest.MonkeyPatch
) -> None:
    with bridged(contract, monkeypatch) as (blog, service):
        monkeypatch.setattr(service, "posts", lambda request: request.method != "GET")
        service.says = Reply(429, {"message": "slow down"}, {"Retry-After": "600"})
        blog.new(CORRECTED)
        blog.pass_by(70, 90)
        [(kind, state, _)] = changes()
        assert (kind, state) in (("edit", "queued"), ("edit", "deferred"))
        service.says = None
        before = written(service)
        blog.work(95)
        assert written(service) == before
        blog.work(120)
        assert "corrected" in stands(service, contract)[-1]
        assert changes() == [("edit", "sent", "")]


@pytest.mark.slow
@pytest.mark.parametrize("contract", some_now(changing(Edits)))
def test_an_edit_whose_answer_was_lost_is_made_again(
    contract: type[BridgeContract], monkeypatch: pytest.MonkeyPatch
) -> None:
    with bridged(contract, monkeypatch) as (blog, service):
        monkeypatch.setattr(service, "posts", lambda request: request.method != "GET")
        service.says = Reply(takes=True, hangs_up=True)
        blog.new(CORRECTED)
        blog.pass_by(70, 90)
        service.says = None
        blog.work(160)
        blog.work(400)
        assert "corrected" in stands(service, contract)[-1]
        assert len(stands(service, contract)) == (2 if contract.channel.key == "webhook" else 1)
        assert changes() == [("edit", "sent", "")]


@pytest.mark.slow
@pytest.mark.parametrize("contract", some_now(changing(Edits)))
def test_changes_of_a_post_that_is_gone_there_end_plainly(
    contract: type[BridgeContract], monkeypatch: pytest.MonkeyPatch
) -> None:
    if contract.channel.key in ("ntfy", "matrix", "webhook"):
        pytest.skip("It does not say that a post is gone: it takes the correction.")
    with bridged(contract, monkeypatch) as (blog, service):
        for place in ("statuses", "messages"):
            getattr(service, place, []).clear()
        blog.new(CORRECTED)
        blog.pass_by(70, 90, 100)
        assert changes() == [("edit", "cancelled", "The post no longer exists.")]
        assert not Destination.objects.exclude(disabled_at=None).exists()
        blog.new()
        blog.pass_by(110, 150, 180)
        assert changes()[1:] == [("delete", "sent", "")]
        assert stands(service, contract) == []
