"""A pass ends only when all permitted letters are sent, and holds none back."""

import threading
import time
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from delivery.engine.claimer import Claimer
from delivery.engine.send_pass import SendPass, send_due
from delivery.models import Delivery, Lane
from tests.delivery.background import sending, wait_until
from tests.delivery.ledger import a_lane, queued, states
from tests.examples import some_now
from tests.servers.smtp_server import SmtpServer

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
