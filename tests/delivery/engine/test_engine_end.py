"""A pass ends only when all permitted letters are sent, and holds none back.

Two workers at one lane stay within its connections together, and send each letter once.
"""

import threading
import time
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from delivery.engine import claimer
from delivery.engine.claimer import Claimer
from delivery.engine.send_pass import SendPass, send_due
from delivery.lanes import shares
from delivery.models import Delivery, Lane, LaneShare
from tests.delivery.background import sending, wait_until
from tests.delivery.ledger import a_lane, queued, states
from tests.examples import NIGHTLY, some_now
from tests.factories import IssueFactory
from tests.servers.smtp_server import SmtpServer

WIDTH, LETTERS = 4, 150
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("_either_sender")]


@pytest.fixture
def slow_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Delay the end of concurrent looks, as on a busy processor."""
    look = Claimer.look

    def slow(self: Claimer) -> datetime | None:
        seen = look(self)
        if threading.current_thread().name.startswith("claim"):
            time.sleep(0.1)
        return seen

    monkeypatch.setattr(Claimer, "look", slow)


def queue(count: int, **lane: Any) -> None:
    """Queue letters that are due by the real clock."""
    queued(count, lane=a_lane(**lane))
    now = timezone.now()
    Lane.objects.update(refilled_at=now)
    Delivery.objects.update(due_at=now, created_at=now)


@pytest.mark.parametrize("delay", some_now([0.0, 0.02, 0.15]))
def test_a_lane_with_a_slow_rate_is_waited_for_until_all_is_sent(smtp: SmtpServer, delay: float) -> None:
    smtp.state.delay = delay
    queue(8, rate=10.0, burst=1, concurrency=2)
    assert send_due().sent == 8
    assert states() == {"sent": 8}


@pytest.mark.usefixtures("slow_looks")
def test_what_a_look_saw_some_time_ago_does_not_end_the_pass(smtp: SmtpServer) -> None:
    smtp.state.delay = 0.02
    queue(8, rate=10.0, burst=1, concurrency=2)
    assert send_due().sent == 8


@pytest.mark.django_db
@pytest.mark.usefixtures("slow_looks")
def test_what_is_claimed_while_the_pass_ends_is_given_back(smtp: SmtpServer) -> None:
    smtp.state.delay = 0.02
    queue(40, concurrency=1)
    for budget in (0.06, 0.1, 0.13):
        ours = SendPass(timezone.now, timedelta(seconds=budget))
        ours.run()
        assert not ours.in_flight
        assert set(states()) <= {"sent", "queued"}
    assert set(Delivery.objects.filter(state="queued").values_list("begun_at", "attempts")) == {(None, 0)}


def test_what_becomes_due_while_a_pass_is_busy_goes_with_it(smtp: SmtpServer) -> None:
    smtp.state.delay = 0.3
    queue(1, concurrency=2)
    with sending() as report:
        wait_until(lambda: "mail" in smtp.commands)
        queued(2)
    assert report.result().sent == 3


@pytest.fixture
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Renew shares so often that a test need not wait fifteen seconds."""
    monkeypatch.setattr(claimer, "RENEW_SHARE", 0.15)


def all_went_once(smtp: SmtpServer, letters: int = LETTERS) -> None:
    assert len(smtp.recipients) == len(set(smtp.recipients)) == letters
    assert states() == {"sent": letters}
    assert set(Delivery.objects.values_list("attempts", "lease_token")) == {(1, None)}
    assert not LaneShare.objects.exists()


@NIGHTLY
@pytest.mark.usefixtures("_often")
def test_a_second_worker_gets_connections_only_as_the_first_closes_some(smtp: SmtpServer) -> None:
    # More than the first worker claims at once; slow enough for a late start of the second.
    letters = 4 * LETTERS
    smtp.state.delay = 0.5
    queued(letters, issue=IssueFactory(), lane=a_lane(concurrency=WIDTH))
    with sending() as first:
        smtp.wait_for(12)
        assert smtp.most_open == WIDTH
        with sending() as second:
            wait_until(lambda: len(LaneShare.objects.values_list("holder")) == 2)
            smtp.state.delay = 0.05
    assert smtp.most_open == WIDTH
    all_went_once(smtp, letters)
    assert first.result().sent + second.result().sent == letters
    assert second.result().sent >= 10


@pytest.mark.slow
@pytest.mark.usefixtures("_often")
def test_two_workers_that_begin_together_send_each_letter_once(smtp: SmtpServer) -> None:
    smtp.state.delay = 0.02
    queued(LETTERS, issue=IssueFactory(), lane=a_lane(concurrency=WIDTH))
    with sending() as first, sending() as second:
        pass
    assert smtp.most_open <= WIDTH
    all_went_once(smtp)
    assert first.result().sent + second.result().sent == LETTERS


@pytest.mark.slow
@pytest.mark.usefixtures("_often")
def test_a_lane_that_is_made_narrower_closes_connections_within_a_pass(smtp: SmtpServer) -> None:
    smtp.state.delay = 0.08
    queued(LETTERS, issue=IssueFactory(), lane=a_lane(concurrency=WIDTH))
    with sending():
        smtp.wait_for(10)
        Lane.objects.update(concurrency=1)
        time.sleep(0.8)
        before = len(smtp.messages)
        later = smtp.wait_for(before + 20)
        assert len({message.connection for message in later[before:]}) == 1
        Lane.objects.update(concurrency=WIDTH)
        smtp.wait_for(before + 50)
    assert len({message.connection for message in smtp.messages[-20:]}) > 1
    all_went_once(smtp)


@pytest.mark.usefixtures("_often")
def test_a_worker_whose_share_is_gone_ends_what_it_has(smtp: SmtpServer) -> None:
    """Others hold the whole lane, which was narrowed: claimed letters are sent, nothing is stuck."""
    smtp.state.delay = 0.05
    lane = a_lane(concurrency=WIDTH)
    queued(40, issue=IssueFactory(), lane=lane)
    with sending() as report:
        smtp.wait_for(5)
        Lane.objects.update(concurrency=1)
        until = LaneShare.objects.get().until
        LaneShare.objects.create(
            lane=lane, holder="11111111-1111-4111-8111-111111111111", connections=1, until=until
        )
    assert report.result().sent == len(smtp.messages)
    assert set(states()) <= {"sent", "queued"}


@pytest.mark.usefixtures("_often")
def test_a_share_is_kept_while_the_last_letters_are_on_their_way(
    smtp: SmtpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is due any more, but the connections are still open."""
    monkeypatch.setattr(shares, "HELD_FOR", timedelta(seconds=1))
    smtp.state.delay = 2
    queued(WIDTH, issue=IssueFactory(), lane=a_lane(concurrency=WIDTH))
    with sending():
        wait_until(lambda: smtp.connections == WIDTH)
        time.sleep(1.2)
        assert LaneShare.objects.get().until > timezone.now()
    all_went_once(smtp, WIDTH)
