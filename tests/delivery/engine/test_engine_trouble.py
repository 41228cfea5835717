"""Errors in the midst of a pass delay at most one letter: nothing is lost or stays claimed."""

import gc
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError

from channels.email.mail_message import MailMessage
from channels.email.smtp_connection import Connection
from channels.email.smtp_session import SmtpSession
from channels.letter import Recipient
from common.shutdown import stop, stopping
from delivery.engine import send_pass
from delivery.engine.claim import DELIVERY_LEASE, reap_expired
from delivery.engine.claimer import LetterCache
from delivery.engine.send_pass import SendPass, send_due
from delivery.engine.send_task import ClaimedDelivery, PreparedLetter, SendTask
from delivery.models import Delivery, LaneShare
from delivery.rules import limits
from delivery.rules.limits import claimable
from tests.delivery.background import sending as in_background
from tests.delivery.background import wait_until
from tests.delivery.ledger import Clock, a_lane, attempts, queued, states
from tests.examples import some_now
from tests.factories import IssueFactory
from tests.servers.smtp_server import SmtpServer

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
