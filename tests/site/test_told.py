"""Important events have a log line and a metric each."""

import logging
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from channels.base import Permanent, Temporary
from common import counters
from delivery.engine.claim import reap_expired
from delivery.issues.publish import publish
from tests.delivery.ledger import a_lane, claimed, ended, queued
from tests.factories import NOW, FeedFactory, IssueFactory
from tests.feeds.watched import at
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer

pytestmark = pytest.mark.django_db(transaction=True)

DEAD = Permanent("550 5.1.1 No such user")
BUSY = Temporary("451 4.3.0 Try again later")
AWAY = Temporary("The server can’t be reached: Connection refused", stops_lane=True)


@pytest.fixture(autouse=True)
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[Any]:
    fresh: Counter[Any] = Counter()
    monkeypatch.setattr(counters, "_counts", fresh)
    return fresh


def an_issue_is_published() -> None:
    publish(issue_id=IssueFactory(published_at=None, title="On boats").pk, now=NOW)


def a_letter_fails() -> None:
    queued()
    ended(DEAD, *claimed())


def a_letter_is_put_off() -> None:
    queued()
    ended(BUSY, *claimed())


def a_server_is_away() -> None:
    a_lane()
    queued()
    ended(AWAY, *claimed())


def a_worker_dies() -> None:
    queued()
    claimed()
    reap_expired(now=NOW + timedelta(hours=1))


@pytest.mark.usefixtures("commits")
@pytest.mark.parametrize(
    ("happens", "line", "number"),
    [
        (an_issue_is_published, "an issue of letter-", {("issues", "email"): 1}),
        (
            a_letter_fails,
            "a delivery failed for good: 550 5.1.1 No such user",
            {("attempts", "permanent"): 1},
        ),
        (a_letter_is_put_off, "", {("attempts", "temporary"): 1}),
        (a_server_is_away, "a lane begins to rest: The server can’t be reached", {}),
        (
            a_worker_dies,
            "1 deliveries of a worker that ended were taken back",
            {("leases_reaped", "email"): 1, ("attempts", "lost"): 1},
        ),
    ],
)
def test_it_has_a_line_and_a_number(
    happens: Callable[[], None],
    line: str,
    number: dict[Any, int],
    counts: Counter[Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    happens()
    said = [record.getMessage() for record in caplog.records if record.name.startswith("delivery.")]
    assert [one for one in said if line and one.startswith(line)] == said
    assert len(said) == bool(line)
    assert dict(counts) == number


@pytest.mark.django_db
def test_a_feed_that_begins_to_fail_is_told_once_and_so_is_its_recovery(
    loopback_allowed: None, counts: Counter[Any], caplog: pytest.LogCaptureFixture
) -> None:
    from feeds.polling.poll import poll_due

    caplog.set_level(logging.INFO)
    with FeedServer() as server:
        FeedFactory(url=server.serve("/feed.xml", status=500), host="127.0.0.1", next_poll_at=at(0))
        for minutes in (0, 600):
            poll_due(clock=lambda: at(minutes), ignore_due=True)  # noqa: B023 - called at once
        server.serve("/feed.xml", rss([]))
        poll_due(clock=lambda: at(1200), ignore_due=True)
    said = [record.getMessage() for record in caplog.records if record.name.startswith("feeds.")]
    assert [one.partition(": ")[0] for one in said] == ["a feed cannot be read", "a feed can be read again"]
    assert counts == {("polls", "failed"): 2, ("polls", "read"): 1}
