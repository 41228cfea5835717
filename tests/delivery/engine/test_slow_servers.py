"""Slow servers: each letter goes once, the others go on, and stopping is bounded."""

import time
from collections.abc import Iterator
from datetime import timedelta

import pytest

from common import passes
from common.shutdown import stop, stopping
from delivery.engine import async_connections, claimer, send_pass
from delivery.engine.send_pass import send_due
from delivery.models import Delivery
from tests.delivery.answered import impatient
from tests.delivery.background import sending, wait_until
from tests.delivery.ledger import HOUR, MINUTE, Clock, a_lane, attempts, queued, states
from tests.examples import NIGHTLY
from tests.factories import NOW, IssueFactory
from tests.servers.smtp_server import STALL, SmtpServer

__all__ = ["impatient"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(params=["loop", pytest.param("child", marks=pytest.mark.slow)])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Send in this process, and in the child."""
    monkeypatch.setattr(claimer, "has_much", lambda lane, now: request.param == "child")
    yield
    stopping.clear()


@pytest.mark.usefixtures("either")
def test_one_slow_letter_keeps_nobody_waiting(smtp: SmtpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(send_pass, "DRAIN_SECONDS", 0.2)
    monkeypatch.setattr(async_connections, "ANNOUNCED_FOR", 0.1)
    first, *_ = queued(3, issue=IssueFactory(), lane=a_lane(concurrency=2))
    smtp.answer("message", STALL, recipient=first.destination.core)
    # Enough time for a process to start on a busy machine.
    with sending(budget=timedelta(seconds=5)):
        # The third letter's envelope is pipelined with the first: it does not wait for the first one's end.
        try:
            smtp.wait_for(2, timeout=25)
            queued(5, issue=first.issue)
            smtp.wait_for(7, timeout=25)
            wait_until(lambda: states() == {"sending": 1, "sent": 7})
        finally:
            smtp.drop_connections()
    assert states() == {"sent": 7, "deferred": 1}


def test_a_pass_that_goes_on_for_a_slow_server_does_not_hang(
    smtp: SmtpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send_pass, "DRAIN_SECONDS", 0.1)
    seen: list[float] = []
    monkeypatch.setattr(send_pass, "note_progress", lambda: seen.append(time.monotonic()))
    smtp.state.slow["message"] = 6
    queued(1)
    assert send_due(budget=timedelta(seconds=2)).sent == 1
    assert len(seen) > 1


@pytest.mark.django_db
def test_progress_is_noted_for_the_pass_of_this_thread() -> None:
    seen = []

    @passes.skip_if_running
    def slowly() -> None:
        passes._running[next(iter(passes._running))] -= 1000
        assert passes.longest_running() > 900
        passes.note_progress()
        seen.append(passes.longest_running())

    slowly()
    passes.note_progress()
    assert seen[0] < 900
    assert passes.longest_running() == 0


@pytest.mark.usefixtures("either")
def test_a_worker_that_is_told_to_stop_waits_a_while_and_then_leaves_the_end_unknown(
    smtp: SmtpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send_pass, "STOP_SECONDS", 0.5)
    first, *_ = queued(12, issue=IssueFactory(), lane=a_lane(concurrency=1))
    smtp.answer("message", STALL, recipient=first.destination.core)
    with sending():
        wait_until(lambda: "message" in smtp.commands)
        stop()
    first.refresh_from_db()
    assert (first.state, [name for name, _ in attempts(first)]) == ("deferred", ["ambiguous"])
    assert states() == {"queued": 11, "deferred": 1}
    assert set(Delivery.objects.filter(state="queued").values_list("attempts", "begun_at")) == {(0, None)}


@pytest.mark.usefixtures("either")
def test_what_no_server_has_yet_when_a_worker_stops_is_no_try(
    smtp: SmtpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send_pass, "STOP_SECONDS", 0.3)
    smtp.answer("rcpt", STALL)
    lane = a_lane(concurrency=1)
    (row,) = queued(1, lane=lane)
    with sending():
        wait_until(lambda: "rcpt" in smtp.commands)
        stop()
    row.refresh_from_db()
    lane.refresh_from_db()
    assert (row.state, row.attempts, row.begun_at, lane.failures) == ("queued", 0, None, 0)


@pytest.mark.usefixtures("impatient")
def test_what_may_have_arrived_is_sent_three_times_in_all_and_then_held(smtp: SmtpServer) -> None:
    smtp.answer("taken", STALL)
    (row,) = queued()
    now, waits = NOW, []
    while row.state in ("queued", "deferred"):
        waits.append(row.due_at - now if row.state == "deferred" else None)
        now = row.due_at
        assert send_due(clock=Clock(now)).deferred == 1
        row.refresh_from_db()
    assert len(smtp.messages) == 3
    assert (row.state, row.held_for, row.attempts) == ("held", "", 3)
    assert "may have arrived" in row.last_error
    assert waits[1] is not None
    assert waits[1] >= 15 * MINUTE
    assert waits[2] is not None
    assert waits[2] >= HOUR


@NIGHTLY
@pytest.mark.parametrize(
    ("stage", "seconds"), [("message", 130), ("rcpt", 65), ("mail", 65), ("connect", 65)]
)
def test_a_letter_goes_once_to_a_server_that_takes_minutes(
    smtp: SmtpServer, stage: str, seconds: int
) -> None:
    smtp.state.slow[stage] = seconds
    queued(1)
    assert send_due().sent == 1
    assert len(smtp.messages) == 1
    assert states() == {"sent": 1}
