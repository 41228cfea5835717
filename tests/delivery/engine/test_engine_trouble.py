"""Errors in the midst of a pass delay at most one letter: nothing is lost or stays claimed.

Slow servers: each letter goes once, the others go on, and stopping is bounded.
"""

import gc
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError

from channels.email.mail_message import MailMessage
from channels.email.smtp_connection import Connection
from channels.email.smtp_session import SmtpSession
from channels.letter import Recipient
from common import passes
from common.shutdown import stop, stopping
from delivery.engine import async_connections, claimer, send_pass
from delivery.engine.claim import DELIVERY_LEASE, reap_expired
from delivery.engine.claimer import LetterCache
from delivery.engine.send_pass import SendPass, send_due
from delivery.engine.send_task import ClaimedDelivery, PreparedLetter, SendTask
from delivery.models import Delivery, LaneShare
from delivery.rules import limits
from delivery.rules.limits import claimable
from tests.delivery.answered import impatient
from tests.delivery.background import sending, wait_until
from tests.delivery.background import sending as in_background
from tests.delivery.ledger import HOUR, MINUTE, Clock, a_lane, attempts, queued, states
from tests.examples import NIGHTLY, some_now
from tests.factories import NOW, IssueFactory
from tests.servers.smtp_server import STALL, SmtpServer

__all__ = ["impatient"]
pytestmark = pytest.mark.django_db(transaction=True)


def letters(count: int, **lane: Any) -> list[Delivery]:
    return queued(count, issue=IssueFactory(), lane=a_lane(**lane))


def at_letter(monkeypatch: pytest.MonkeyPatch, number: int, act: Callable[[], object]) -> None:
    """Call `act` while that letter (from 1) is made."""
    prepare, made = LetterCache.prepare, []

    def making(self: LetterCache, row: ClaimedDelivery, *, now: datetime) -> tuple[PreparedLetter, Recipient]:
        made.append(row.pk)
        if len(made) == number:
            act()
        return prepare(self, row, now=now)

    monkeypatch.setattr(LetterCache, "prepare", making)


def away() -> None:
    raise OperationalError("the server closed the connection unexpectedly")


def untouched(count: int) -> bool:
    rows = Delivery.objects.filter(state="queued")
    facts = set(rows.values_list("begun_at", "lease_token", "lease_until", "attempts", "last_error"))
    return rows.count() == count and facts <= {(None, None, None, 0, "")}


@pytest.mark.django_db
@pytest.mark.parametrize("number", some_now([1, 30, 51, 75]))
def test_a_database_that_goes_while_letters_are_made_loses_nothing(
    smtp: SmtpServer, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    letters(80, concurrency=4)
    at_letter(monkeypatch, number, away)
    ours = SendPass(Clock(), None)
    with pytest.raises(OperationalError):
        ours.run()
    assert not ours.in_flight
    sent = len(smtp.messages)
    assert states() == ({"sent": sent, "queued": 80 - sent} if sent else {"queued": 80})
    assert untouched(80 - sent)
    assert len(set(smtp.recipients)) == sent
    assert not LaneShare.objects.exists()


def test_a_database_that_goes_in_the_thread_beside_loses_nothing(
    smtp: SmtpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    smtp.state.delay = 0.02
    letters(100, concurrency=2)
    at_letter(monkeypatch, 70, away)
    ours = SendPass(Clock(), None)
    with pytest.raises(OperationalError):
        ours.run()
    assert not ours.in_flight
    sent = len(smtp.messages)
    assert 1 < sent < 70
    assert states() == {"sent": sent, "queued": 100 - sent}
    assert untouched(100 - sent)
    monkeypatch.undo()
    smtp.forget_answers()
    assert len(set(smtp.recipients)) == sent


@pytest.mark.django_db
def test_term_while_a_claim_is_under_way_gives_the_rest_back(
    smtp: SmtpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    smtp.state.delay = 0.02
    # One claim, in this thread.
    monkeypatch.setattr(limits, "CLAIM_SECONDS", 30)
    letters(80, concurrency=3)
    at_letter(monkeypatch, 60, stop)
    report = send_due(clock=Clock())
    sent = len(smtp.messages)
    assert report.sent == sent < 60
    assert untouched(80 - sent)
    stopping.clear()
    monkeypatch.undo()


def test_a_defect_of_ours_while_sending_puts_one_letter_off(
    smtp: SmtpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = letters(8, concurrency=2)
    bad, say = rows[3], SmtpSession.say_text

    def says(self: SmtpSession, connection: Connection, message: MailMessage, *others: Any) -> None:
        if message.recipient == bad.destination.core:
            raise ZeroDivisionError("a defect")
        say(self, connection, message, *others)

    monkeypatch.setattr(SmtpSession, "say_text", says)
    report = send_due(clock=Clock())
    assert (report.sent, report.deferred) == (7, 1)
    bad.refresh_from_db()
    assert bad.state == "deferred"
    assert bad.begun_at is not None
    assert [name for name, _ in attempts(bad)] == ["ambiguous"]
    assert "ZeroDivisionError" in bad.last_error


def test_a_letter_of_which_every_copy_fails_to_be_made_stops_no_other(
    smtp: SmtpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    letters(5, concurrency=1)
    at_letter(monkeypatch, 2, lambda: 1 // 0)
    report = send_due(clock=Clock())
    assert (report.sent, report.deferred) == (4, 1)


def test_a_slow_server_keeps_its_letters_beyond_a_lease(
    smtp: SmtpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send_pass, "RENEW_EVERY", 0.0)
    monkeypatch.setattr(send_pass, "YOUNG", timedelta())
    smtp.hold()
    letters(4, concurrency=2)
    clock = Clock()
    with in_background(clock=clock) as report, smtp.releasing():
        wait_until(lambda: states() == {"sending": 4})
        for _ in range(3):
            clock.now += DELIVERY_LEASE / 2
            wait_until(lambda: not Delivery.objects.expired(clock.now + DELIVERY_LEASE / 2).exists())
            assert reap_expired(now=clock.now) == 0
    assert report.result().sent == 4
    assert states() == {"sent": 4}
    assert len(smtp.recipients) == len(set(smtp.recipients)) == 4


@pytest.mark.slow
def test_however_many_letters_wait_no_more_are_held_than_the_lane_can_send(smtp: SmtpServer) -> None:
    letters(90, concurrency=2)
    most = 0

    class Watching(SendPass):
        def _settle(self, wait: float) -> None:
            nonlocal most
            most = max(most, len(self.in_flight))
            super()._settle(wait)

    ours = Watching(Clock(), None)
    assert ours.run().sent == 90
    assert 2 <= most <= claimable(2)
    assert not ours.in_flight
    assert not ours.permit.lost
    del ours
    gc.collect()
    # By its own type: a proxy of a weak reference reports its object's, which may be gone.
    assert not [one for one in gc.get_objects() if type(one) is SendTask]


@pytest.mark.django_db
def test_what_a_look_has_claimed_as_it_ends_is_given_back(smtp: SmtpServer) -> None:
    """The look ends just between the two checks whether anything is left to do."""
    letters(1)
    ours = SendPass(Clock(), None)
    # So that sending does not begin before that, on a slow machine.
    ours.permit.renewed_at -= 60
    ours.claimer.look()
    (task,) = ours.in_flight
    ours.in_flight.clear()

    claimed = [task]

    class Looking:
        def done(self) -> bool:
            while claimed:
                ours.in_flight.add(claimed.pop())
            return True

    ours.claiming = Looking()  # type: ignore[assignment]
    ours._finish()
    assert not ours.in_flight
    assert untouched(1)


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
