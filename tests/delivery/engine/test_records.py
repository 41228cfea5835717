"""Records of site.standard, from the queue to the account's server and back."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from common.clock import utcnow
from delivery.bridges.connect import reconnect, typed_destination
from delivery.engine.send_pass import send_due
from delivery.issues.draft_edits import leave_out_of_draft
from delivery.issues.pause import hide_issue
from delivery.issues.publish import publish
from delivery.models import Delivery, Issue, Lane
from subscriptions.models import Destination, Subscribable, SubscriberTag
from tests.delivery.background import wait_until
from tests.delivery.corrected import BridgedBlog, changes, dated
from tests.delivery.engine.bridge_contracts import look_every_two_minutes
from tests.delivery.engine.test_every_bridge import worker_beside
from tests.delivery.ledger import Clock
from tests.delivery.recorded import recorded
from tests.factories import NOW, an_issue
from tests.servers.api_server import Reply
from tests.servers.feed_server import FeedServer
from tests.servers.services.bluesky import DELETE, HANDLE, PASSWORD, BlueskyServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback_allowed")]


@pytest.fixture
def server() -> Iterator[BlueskyServer]:
    with BlueskyServer() as made:
        yield made


def queued(newsletter: Subscribable, now: Any = NOW, **facts: Any) -> Issue:
    issue = an_issue(subscribable=newsletter, published_at=None, **facts)
    publish(issue_id=issue.pk, now=now)
    return issue


def work(minutes: float) -> None:
    look_every_two_minutes(NOW + timedelta(minutes=minutes))


def states() -> list[str]:
    return list(Delivery.objects.order_by("pk").values_list("state", flat=True))


def test_a_lost_answer_leaves_one_record(server: BlueskyServer) -> None:
    queued(recorded(server.url))
    server.says = Reply(takes=True, hangs_up=True)
    send_due(clock=Clock(NOW))
    assert (states(), len(server.documents)) == (["deferred"], 1)
    server.says = None
    work(5)
    assert states() == ["sent"]
    assert (len(server.publications), len(server.documents), len(server.writes)) == (1, 1, 2)


@pytest.mark.slow
def test_a_killed_worker_leaves_one_record(server: BlueskyServer, tmp_path: Path) -> None:
    start = utcnow()
    queued(recorded(server.url), start)
    server.says = Reply(takes=True, silent=True)
    with worker_beside(tmp_path) as worker:
        wait_until(lambda: bool(server.documents), seconds=60)
        worker.kill()
    assert states() == ["sending"]
    server.says = None
    look_every_two_minutes(start + timedelta(minutes=5))
    assert (states(), len(server.writes)) == (["sent"], 2)


def test_corrections_and_withdrawals_follow(server: BlueskyServer) -> None:
    with FeedServer() as site:
        blog = BridgedBlog(site)
        feed = blog.watch()
        blog.read(0)
        recorded(server.url, feeds=[feed])
        blog.new(dated("a", 10, title="Bee hotels"))
        blog.pass_by(20, 40, 60)
        blog.new(dated("a", 10, title="Bee hotels, corrected"))
        blog.pass_by(70, 90, 100)
        [document] = server.documents.values()
        assert document["title"] == "Bee hotels, corrected"
        blog.new()
        blog.pass_by(110, 150, 180)
        assert server.documents == {}
        assert changes() == [("edit", "sent", ""), ("delete", "sent", "")]


def test_an_editors_change_of_a_sent_digest_follows_and_so_does_hiding_it(server: BlueskyServer) -> None:
    issue = queued(recorded(server.url, arrangement="daily"))
    work(1)
    [before] = server.documents.values()
    item, kept = issue.issue_items.order_by("position")
    assert before["description"] == f"{item.entry['title']}; {kept.entry['title']}"
    leave_out_of_draft(issue_id=issue.pk, item_id=item.item_id or 0, now=NOW)
    work(11)
    [after] = server.documents.values()
    assert after["description"] == kept.entry["title"]
    assert "updatedAt" in after
    hide_issue(issue, now=NOW)
    work(21)
    assert server.documents == {}
    assert len(server.asked(DELETE)) == 1
    assert changes() == [("edit", "sent", ""), ("delete", "sent", "")]


def test_a_new_password_of_the_bridge_is_used_at_once(server: BlueskyServer) -> None:
    server.password = "abcd-abcd-abcd-abcd"
    queued(recorded(server.url))
    send_due(clock=Clock(NOW))
    assert "app password" in Lane.objects.get(kind="standard_site").last_error
    given = {"handle": HANDLE, "app_password": server.password, "service_url": server.url}
    account = Destination.objects.get(kind="bluesky")
    reconnect(destination=account, parsed=typed_destination("bluesky", given), now=NOW)
    send_due(clock=Clock(NOW + timedelta(seconds=1)))
    assert states() == ["sent"]
    assert PASSWORD not in str(Destination.objects.get(kind="standard_site").config)


@pytest.mark.parametrize("change", ["visibility", "audience"])
def test_what_is_not_for_everybody_is_no_record(server: BlueskyServer, change: str) -> None:
    newsletter = recorded(server.url)
    facts = {}
    if change == "visibility":
        Subscribable.objects.update(visibility="unlisted")
    else:
        tag = SubscriberTag.objects.create(name="bees", key="bees")
        facts = {"audience": {"none_of": {str(tag.pk): "bees"}}}
    queued(newsletter, **facts)
    assert states() == []
