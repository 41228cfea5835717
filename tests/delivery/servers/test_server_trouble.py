"""An unusable mail server: nothing is lost, no letter is blamed, the lane rests."""

from datetime import datetime
from typing import Any

import pytest

from delivery.engine.send_pass import send_due
from delivery.models import Delivery, Lane
from tests.delivery.ledger import MINUTE, Clock, queued, states
from tests.factories import NOW
from tests.servers.smtp_server import SmtpServer
from tests.services import free_port

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS"),
]


def send(now: datetime = NOW) -> Any:
    return send_due(clock=Clock(now))


def test_a_server_that_is_down_and_comes_back_loses_nothing(settings: Any) -> None:
    port = free_port()
    settings.EMAIL_URL = f"smtp://127.0.0.1:{port}"
    rows = queued(40)
    assert send().sent == 0
    lane = Lane.objects.get()
    assert lane.failures == 1
    assert "can’t be reached" in lane.last_error
    assert lane.free_at is not None
    assert states() == {"queued": 40}
    assert sum(row.attempts for row in Delivery.objects.all()) == 0
    assert send().deferred == 0
    with SmtpServer(port=port) as smtp:
        assert send(lane.free_at + MINUTE).sent == 40
        assert sorted(smtp.recipients) == sorted(row.destination.core for row in rows)
    lane.refresh_from_db()
    assert (lane.failures, lane.last_error) == (0, "")


def test_a_wrong_password_is_told_and_nothing_is_tried_one_by_one(settings: Any) -> None:
    with SmtpServer(login=("letters", "right")) as smtp:
        settings.EMAIL_URL = smtp.url.replace("right", "wrong")
        queued(40)
        send()
        assert smtp.connections <= 10
        assert "refused the sign-in" in Lane.objects.get().last_error
        assert states() == {"queued": 40}
        assert not Delivery.objects.filter(attempts__gt=0).exists()
        settings.EMAIL_URL = smtp.url
        assert send(NOW + 2 * MINUTE).sent == 40


def test_a_wrong_email_url_is_told(settings: Any) -> None:
    settings.EMAIL_URL = "gopher://old.example"
    queued(3)
    send()
    assert "EMAIL_URL" in Lane.objects.get().last_error
    assert states() == {"queued": 3}


def test_a_lane_that_stops_gives_the_rest_back_and_rests(smtp: SmtpServer) -> None:
    queued(50)
    smtp.answer("rcpt", "421 4.7.0 Too many messages")
    report = send()
    assert report.sent == 0
    assert report.deferred <= 10
    assert states() == {"deferred": report.deferred, "queued": 50 - report.deferred}
    given_back = Delivery.objects.filter(state="queued").values_list("begun_at", "attempts", "lease_token")
    assert set(given_back) == {(None, 0, None)}
    lane = Lane.objects.get()
    assert lane.free_at is not None
    assert lane.free_at > NOW
    before = len(smtp.commands)
    send()
    assert len(smtp.commands) == before
    smtp.forget_answers()
    assert send(NOW + 2 * MINUTE).sent == 50


def test_a_server_that_closes_now_and_then_gets_everything_all_the_same(smtp: SmtpServer) -> None:
    queued(30)
    smtp.answer("mail", "421 4.3.2 Going down", times=1)
    sent = send().sent
    assert sent + send(NOW + 2 * MINUTE).sent == 30
    assert len(smtp.recipients) == len(set(smtp.recipients)) == 30


def test_a_server_that_always_says_try_later_is_asked_less_and_less(smtp: SmtpServer) -> None:
    (row,) = queued()
    smtp.answer("rcpt", "451 4.3.0 Try again later")
    asked = []
    now = NOW
    for _ in range(4):
        send(now)
        row.refresh_from_db()
        asked.append(row.due_at - now)
        now = row.due_at
    assert asked == sorted(asked)
    assert smtp.commands.count("rcpt") == 4
    assert row.attempts == 4


def test_one_recipient_whose_answer_closes_the_connection_does_not_hold_up_the_rest(smtp: SmtpServer) -> None:
    rows = queued(6)
    bad = rows[0].destination.core
    smtp.answer("rcpt", "421 4.7.0 Policy", recipient=bad)
    now, sent = NOW, 0
    for _ in range(3):
        sent += send(now).sent
        lane = Lane.objects.get()
        now = max(lane.free_at or now, now) + MINUTE
    assert sent == 5
    assert bad not in smtp.recipients
    rows[0].refresh_from_db()
    assert rows[0].attempts >= 1
