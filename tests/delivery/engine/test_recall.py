"""Pausing or cancelling an issue stops its claimed letters: only those on open connections go."""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from delivery.engine import claimer
from delivery.engine.send_pass import send_due
from delivery.issues.pause import cancel_issue, pause_issue, resume_issue
from delivery.models import Delivery
from tests.delivery.background import sending, wait_until
from tests.delivery.ledger import a_lane, queued, states
from tests.delivery.sites import queue, states_of
from tests.examples import NIGHTLY
from tests.factories import NOW, IssueFactory
from tests.load.installation import Installation, postgres_installation, sqlite_installation
from tests.servers.smtp_server import SmtpServer

LETTERS, CONNECTIONS = 5000, 10
# Prints when it took effect, by the machine's clock, which all processes share, and by the database's.
PRESS = """
import time
from delivery.issues import pause
from delivery.models import Delivery, Issue
from django.utils import timezone
while not Delivery.objects.filter(state="{after}").exists():
    time.sleep(0.01)
move = pause.move
def pressed(**options):
    if options["move"] is pause.{move}:
        print(time.monotonic(), timezone.now().timestamp(), flush=True)
    return move(**options)
pause.move = pressed
pause.{act}(issue_id=Issue.objects.get().pk, now=timezone.now())
"""
LATE = """
from datetime import datetime, UTC
from delivery.models import Delivery
print(Delivery.objects.filter(sent_at__gt=datetime.fromtimestamp({at}, UTC)).count())
"""
TRIES = """
SELECT count(*) FROM delivery_delivery WHERE state IN ('held', 'cancelled')
AND (attempts > 0 OR begun_at IS NOT NULL OR lease_token IS NOT NULL)
"""


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=NIGHTLY)])
def made(request: pytest.FixtureRequest, tmp_path: Path, stack: ExitStack) -> Callable[[str], Installation]:
    """Return a function that makes an installation on either database."""

    def make(url: str) -> Installation:
        if request.param == "sqlite":
            return stack.enter_context(sqlite_installation(tmp_path, EMAIL_URL=url))
        server = request.getfixturevalue("postgres_url")
        return stack.enter_context(postgres_installation(tmp_path, server, EMAIL_URL=url))

    return make


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


def pressed(site: Installation, act: str, *, after: str = "sent") -> tuple[float, float]:
    """Pause or cancel the issue once it has a delivery in that state.

    Returns when, by the machine's clock and the database's.
    """
    text = PRESS.format(act=act, move={"pause_issue": "HOLD", "cancel_issue": "CANCEL"}[act], after=after)
    machine, database = re.findall(r"[\d.]+", site.script(text))[:2]
    return float(machine), float(database)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("act", "state"), [("pause_issue", "held"), pytest.param("cancel_issue", "cancelled", marks=NIGHTLY)]
)
def test_when_an_issue_is_stopped_only_what_is_on_open_connections_goes(
    made: Callable[[str], Installation], smtp: SmtpServer, act: str, state: str
) -> None:
    smtp.state.delay = 0.03
    site = made(smtp.url)
    queue(site, LETTERS, concurrency=CONNECTIONS)
    site.start_worker("send,reap")
    smtp.wait_for(300, timeout=60)
    at, _ = pressed(site, act)
    wait_until(lambda: set(states_of(site)) == {"sent", state}, 40)
    # One in flight, and one whose record was being written, per connection.
    assert sum(one.at > at for one in smtp.messages) <= 2 * CONNECTIONS
    assert len(smtp.messages) < LETTERS - 1000
    assert states_of(site) == {"sent": len(smtp.messages), state: LETTERS - len(smtp.messages)}
    assert site.rows(TRIES) == [(0,)]


@pytest.mark.slow
def test_a_pause_stops_what_is_kept_in_the_mailbox(made: Callable[[str], Installation]) -> None:
    site = made("mailbox:")
    # A mailbox accepts thousands a second: the process that presses starts before the worker.
    queue(site, 2 * LETTERS, concurrency=CONNECTIONS)
    with ThreadPoolExecutor() as another:
        press = another.submit(pressed, site, "pause_issue", after="stored")
        site.start_worker("send,reap")
        _, at = press.result()
    wait_until(lambda: set(states_of(site)) <= {"stored", "held"}, 40)
    assert "held" in states_of(site), "all were stored before it was pressed"
    assert int(site.script(LATE.format(at=at))) <= 3 * CONNECTIONS


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("where", ["loop", "child"])
def test_what_is_resumed_goes_out_once(smtp: SmtpServer, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claimer, "has_much", lambda lane, now: where == "child")
    smtp.state.delay = 0.02
    issue = IssueFactory(published_at=NOW)
    queued(60, issue=issue, lane=a_lane(concurrency=2))
    with sending():
        smtp.wait_for(4)
        pause_issue(issue_id=issue.pk, now=NOW)
        wait_until(lambda: not Delivery.objects.filter(state="sending").exists())
    assert len(smtp.messages) < 20
    resume_issue(issue_id=issue.pk, now=NOW)
    send_due()
    assert len(set(smtp.recipients)) == len(smtp.recipients) == 60
    assert states() == {"sent": 60}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("where", ["loop", "child"])
def test_another_issue_goes_on_when_one_is_cancelled(
    smtp: SmtpServer, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claimer, "has_much", lambda lane, now: where == "child")
    smtp.state.delay = 0.02
    ended, other = IssueFactory(published_at=NOW), IssueFactory(published_at=NOW)
    lane = a_lane(concurrency=2)
    queued(40, issue=ended, lane=lane)
    queued(10, issue=other, lane=lane)
    with sending():
        smtp.wait_for(4)
        cancel_issue(issue_id=ended.pk, now=NOW)
    assert other.deliveries.filter(state="sent").count() == 10
    gone = ended.deliveries.filter(state="sent").count()
    assert gone <= 10
    assert ended.deliveries.exclude(state="sent").filter(attempts=0, begun_at=None).count() == 40 - gone
