"""Every response of a mail server at every stage, and its effect on letter and lane."""

import pytest

from delivery.issues.pause import resume_newsletter
from delivery.lanes.limits import resume_domain
from delivery.models import Attempt, Bounce, Delivery, Lane, LaneDomain
from subscriptions.models import Subscribable, Suppression
from tests.delivery.answered import LATER, a_letter, after, put_off, send, slowed, untouched
from tests.delivery.ledger import MINUTE, a_lane, queued, states
from tests.examples import some_now
from tests.factories import NOW, IssueFactory
from tests.servers.smtp_server import SmtpServer

pytestmark = [pytest.mark.django_db(transaction=True)]

# The stages with a message in progress.
STAGES = ("mail", "rcpt", "data", "message")
AFTER_MAIL = STAGES[1:]


def arrives_later(smtp: SmtpServer, *rows: Delivery) -> bool:
    """Return whether all of these arrive once, when the server works again."""
    smtp.forget_answers()
    sent = send(LATER).sent
    return sent == len(rows) and sorted(smtp.recipients) == sorted(row.destination.core for row in rows)


@pytest.mark.parametrize("stage", some_now(STAGES))
@pytest.mark.parametrize("reply", some_now(["450 4.2.0 Mailbox busy", "451 4.3.0 Local error"]))
def test_a_4xx_puts_off_that_letter_and_slows_nothing(smtp: SmtpServer, stage: str, reply: str) -> None:
    row = a_letter()
    smtp.answer(stage, reply)
    assert send().deferred == 1
    assert put_off(row)
    attempt = Attempt.objects.get()
    assert (attempt.text, attempt.status) == (reply, reply.split()[1])
    assert arrives_later(smtp, row)


@pytest.mark.parametrize(
    "reply",
    some_now(["450 4.2.0 Greylisted", "451 4.7.1 Greylisting in action", "451 4.7.1 Try again later"]),
)
def test_greylisting_puts_off_one_letter_and_the_others_go_out(smtp: SmtpServer, reply: str) -> None:
    rows = queued(5)
    smtp.answer("rcpt", reply, recipient=rows[0].destination.core, times=1)
    report = send()
    assert (report.sent, report.deferred) == (4, 1)
    assert put_off(rows[0])
    assert send(NOW + 2 * MINUTE).sent == 1
    assert len(set(smtp.recipients)) == len(smtp.recipients) == 5


@pytest.mark.parametrize("stage", some_now(STAGES))
@pytest.mark.parametrize(
    "reply",
    some_now(
        ["421 Closing", "451 4.7.500 Server busy", "454 Throttling failure: Maximum sending rate exceeded."]
    ),
)
def test_an_answer_about_rate_or_policy_slows_the_lane(smtp: SmtpServer, stage: str, reply: str) -> None:
    row = a_letter()
    smtp.answer(stage, reply)
    assert send().sent == 0
    assert slowed(row)
    assert Lane.objects.get().last_error == reply
    asked = len(smtp.commands)
    assert send().sent == 0
    assert len(smtp.commands) == asked
    assert arrives_later(smtp, row)
    lane = Lane.objects.get()
    assert (lane.failures, lane.last_error) == (0, "")


@pytest.mark.parametrize("stage", some_now(["connect", "ehlo"]))
@pytest.mark.parametrize(
    "reply", some_now(["421 4.7.0 Too many connections", "554 5.7.1 You are not welcome"])
)
def test_a_server_that_does_not_let_us_in_slows_the_lane_and_touches_no_letter(
    smtp: SmtpServer, stage: str, reply: str
) -> None:
    row = a_letter()
    smtp.answer(stage, reply)
    send()
    assert untouched(row)
    assert reply in Lane.objects.get().last_error
    assert arrives_later(smtp, row)


@pytest.mark.slow
def test_a_lane_that_is_told_to_slow_down_again_and_again_blames_one_letter_at_most(smtp: SmtpServer) -> None:
    a_lane(concurrency=1)
    rows = queued(30)
    smtp.answer("rcpt", "421 4.7.28 Rate")
    rests, now = [], NOW
    for _ in range(4):
        send(now)
        lane = Lane.objects.get()
        assert lane.free_at is not None
        rests.append((lane.free_at - now).total_seconds())
        now = lane.free_at
    assert rests == sorted(rests)
    assert rests[-1] > 4 * rests[0]
    assert sum(row.attempts for row in Delivery.objects.all()) == 1
    assert arrives_later(smtp, *rows)


@pytest.mark.parametrize(
    "reply", some_now(["550 5.1.8 Sender refused", "553 5.7.1 Not yours", "501 5.1.7 Bad sender"])
)
def test_a_sender_that_is_refused_fails_nobody(smtp: SmtpServer, reply: str) -> None:
    rows = queued(3)
    smtp.answer("mail", reply)
    assert send().failed == 0
    assert states() == {"deferred": 3}
    assert not Bounce.objects.exists()
    newsletter = Subscribable.objects.get()
    assert reply in newsletter.sending_paused_reason
    resume_newsletter(subscribable_id=newsletter.pk, now=NOW)
    assert arrives_later(smtp, *rows)


def test_a_sender_that_is_refused_for_its_identity_pauses_the_newsletter(smtp: SmtpServer) -> None:
    a_letter()
    smtp.answer("mail", "550 5.7.26 Unauthenticated mail is refused")
    send()
    assert "Unauthenticated mail" in Subscribable.objects.get().sending_paused_reason


@pytest.mark.parametrize("stage", some_now(AFTER_MAIL))
@pytest.mark.parametrize("reply", some_now(["550 No", "554 5.6.0 Bad content"]))
def test_a_5xx_fails_that_recipient_and_nobody_else(smtp: SmtpServer, stage: str, reply: str) -> None:
    a_lane(concurrency=1)
    bad, *others = queued(3)
    smtp.answer(stage, reply, recipient=bad.destination.core)
    report = send()
    assert (report.sent, report.failed) == (2, 1)
    row = after(bad)
    assert (row.state, row.last_error, row.attempts) == ("failed", reply, 1)
    assert sorted(smtp.recipients) == sorted(other.destination.core for other in others)
    assert not Suppression.objects.exists()
    assert (Lane.objects.get().failures, LaneDomain.objects.count()) == (0, 0)


@pytest.mark.parametrize("stage", some_now(AFTER_MAIL))
@pytest.mark.parametrize("reply", some_now(["550 5.1.1 No such user", "550 5.1.10 Null MX"]))
def test_no_such_address_suppresses_it(smtp: SmtpServer, stage: str, reply: str) -> None:
    bad, _ = queued(2)
    smtp.answer(stage, reply, recipient=bad.destination.core)
    report = send()
    assert (report.sent, report.failed) == (1, 1)
    assert Suppression.objects.get().core == bad.destination.core
    bounce = Bounce.objects.get()
    assert (bounce.delivery, bounce.kind, bounce.status) == (bad, "hard", reply.split()[1])
    assert (bounce.diagnostic, bounce.effect) == (reply, "Nothing arrives at this address.")
    (again,) = queued(1, subscription=bad.subscription)
    send()
    assert after(again).state == "cancelled"


def test_a_domain_that_denies_everybody_is_paused_and_nobody_suppressed(smtp: SmtpServer) -> None:
    queued(5, domain="fine.example")
    queued(30, domain="odd.example")
    for row in Delivery.objects.filter(domain="odd.example"):
        smtp.answer("rcpt", "550 5.1.1 No such user", recipient=row.destination.core)
    assert send().sent == 5
    assert (LaneDomain.objects.get().domain, LaneDomain.objects.get().paused) == ("odd.example", True)
    assert not Suppression.objects.exists()
    assert Bounce.objects.filter(held=True).count() == Delivery.objects.filter(state="failed").count() >= 10


def test_a_domain_that_refuses_everybody_is_paused(smtp: SmtpServer) -> None:
    queued(30, domain="odd.example", issue=IssueFactory())
    smtp.answer("message", "554 5.7.1 Looks like spam")
    send()
    row = LaneDomain.objects.get()
    assert (row.domain, row.paused) == ("odd.example", True)
    assert "554 5.7.1 Looks like spam" in row.paused_reason
    assert set(Attempt.objects.values_list("status", flat=True)) == {"5.7.1"}
    assert Subscribable.objects.get().sending_paused_at is None


def test_what_is_left_for_a_paused_domain_is_held_and_goes_on_when_it_is_resumed(smtp: SmtpServer) -> None:
    lane = a_lane(concurrency=1)
    LaneDomain.objects.create(lane=lane, domain="odd.example", paused=True, paused_reason="It refuses.")
    queued(3, domain="odd.example")
    fine, *_ = queued(1, domain="fine.example")
    assert send().sent == 1
    assert smtp.recipients == [fine.destination.core]
    assert set(Delivery.objects.exclude(pk=fine.pk).values_list("state", "held_for")) == {("held", "domain")}
    assert resume_domain(lane_id=lane.pk, domain="odd.example", now=NOW) == 3
    assert send().sent == 3


def test_a_daily_quota_stops_the_lane_and_fails_nobody(smtp: SmtpServer) -> None:
    a_lane(concurrency=1)
    rows = queued(5)
    smtp.answer("message", "550 5.4.5 Daily user sending limit exceeded")
    assert send().failed == 0
    assert set(states()) <= {"queued", "deferred"}
    assert "Daily user sending limit" in Lane.objects.get().last_error
    assert arrives_later(smtp, *rows)
