"""From a command to posts on a Bluesky server: the account's identity, and state between passes."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from common.secrets import opened
from delivery.engine.send_pass import send_due
from delivery.issues.publish import publish
from delivery.models import Delivery, Lane, RemotePost
from subscriptions.models import Destination, Subscription
from tests.delivery.ledger import Clock
from tests.factories import NOW, BridgeFactory, an_issue
from tests.servers.api_server import Reply
from tests.servers.services.bluesky import DID, HANDLE, PASSWORD, REFRESH, SIGN_IN, BlueskyServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback_allowed")]


@pytest.fixture
def server() -> Iterator[BlueskyServer]:
    with BlueskyServer() as made:
        yield made


@pytest.fixture
def bridge(server: BlueskyServer) -> Any:
    made = BridgeFactory(channel="bluesky")
    given = {"handle": HANDLE, "app_password": PASSWORD, "service_url": server.url}
    call_command("subscribe", made.name, **given)
    return made


def post_one(bridge: Any, minutes: float) -> Any:
    issue = an_issue(posts=1, subscribable=bridge, published_at=None)
    publish(issue_id=issue.pk, now=NOW)
    return send_due(clock=Clock(NOW + timedelta(minutes=minutes)))


@pytest.mark.django_db
def test_a_subscriber_is_known_by_its_did_and_taken_off_by_its_handle(
    bridge: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    destination = Destination.objects.get()
    assert (destination.core, destination.label) == (DID, f"@{HANDLE}")
    call_command("unsubscribe", bridge.name, handle=f"@{HANDLE}", json=True)
    said = capsys.readouterr().out
    assert PASSWORD not in said
    assert json.loads(said[said.index("{") :])["destination"] == f"@{HANDLE}"
    assert Subscription.objects.get().status != Subscription.Status.CONFIRMED
    with pytest.raises(CommandError, match="has no subscriber"):
        call_command("unsubscribe", bridge.name, handle="another.example")


def test_later_passes_go_on_with_the_tokens_of_the_first(bridge: Any, server: BlueskyServer) -> None:
    asked = len(server.asked(SIGN_IN))
    assert [post_one(bridge, 0).sent, post_one(bridge, 2).sent] == [1, 1]
    assert len(server.asked(SIGN_IN)) == asked + 1
    server.use_up()
    assert post_one(bridge, 4).sent == 1
    assert len(server.asked(REFRESH)) == 1
    assert opened(Lane.objects.get().state)["did"] == DID
    urls = {f"https://bsky.app/profile/{DID}/post/{rkey}" for rkey in server.records}
    assert set(RemotePost.objects.values_list("url", flat=True)) == urls
    assert len(urls) == 3


def test_a_lost_answer_leaves_one_post(bridge: Any, server: BlueskyServer) -> None:
    server.says = Reply(takes=True, hangs_up=True)
    assert post_one(bridge, 0).deferred == 1
    server.says = None
    assert send_due(clock=Clock(NOW + timedelta(minutes=5))).sent == 1
    assert len(server.records) == 1
    assert Delivery.objects.get().remote_id.startswith(f"at://{DID}/")
