"""Each outcome: its state, its retry, and its record."""

from datetime import timedelta

import pytest

from channels import channel
from channels.base import Ambiguous, CrashPolicy, Outcome, Permanent, Sent, Temporary
from delivery.engine.outcomes import record_outcomes
from delivery.issues.pause import retry_delivery
from delivery.models import Attempt, Delivery, MailboxMessage
from tests.delivery.ledger import HOUR, MINUTE, attempts, claimed, ended, ended_task, one_ended, queued
from tests.factories import NOW, MailboxMessageFactory

pytestmark = pytest.mark.django_db

BUSY = Temporary("451 4.3.0 Try again later")
RAW = b"From: a@sender.example\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n\r\nHello\r\n"


def test_an_acceptance_is_recorded_on_the_delivery_alone() -> None:
    row = one_ended(Sent("queued as 1"), at=NOW + MINUTE)
    assert (row.state, row.sent_at, row.remote_id) == ("sent", NOW + MINUTE, "queued as 1")
    assert (row.attempts, row.lease_token, row.lease_until, row.begun_at) == (1, None, None, None)
    assert attempts(row) == []


def test_a_success_clears_the_last_error() -> None:
    row = one_ended(BUSY)
    (row,) = ended(Sent("queued as 1"), *claimed(now=row.due_at))
    assert (row.state, row.last_error, row.attempts) == ("sent", "", 2)
    assert attempts(row) == [("temporary", BUSY.text)]


def test_a_temporary_failure_is_deferred_and_written_down() -> None:
    row = one_ended(BUSY)
    assert (row.state, row.last_error, row.attempts) == ("deferred", BUSY.text, 1)
    assert timedelta(seconds=54) <= row.due_at - NOW <= timedelta(seconds=66)
    assert (row.lease_token, row.begun_at) == (None, None)
    assert attempts(row) == [("temporary", BUSY.text)]


def test_a_deferred_letter_is_not_claimed_before_its_time() -> None:
    row = one_ended(Temporary("450 4.2.0 Greylisted", retry_at=NOW + HOUR))
    assert row.due_at == NOW + HOUR
    assert claimed(now=NOW + HOUR - MINUTE) == ()
    assert len(claimed(now=NOW + HOUR)) == 1


def test_back_off_grows_with_every_attempt_and_ends_after_four_days() -> None:
    row, waits = one_ended(BUSY), []
    for _ in range(100):
        if row.state != "deferred":
            break
        now = row.due_at
        (row,) = ended(BUSY, *claimed(now=now), at=now)
        waits.append(row.due_at - now)
    assert waits[:3] == sorted(waits[:3])
    assert timedelta(days=3, hours=18) < now - NOW <= timedelta(days=4)
    assert row.state == "failed"
    assert row.attempts == len(attempts(row)) == len(waits) + 1


def test_a_permanent_failure_fails_the_letter_and_leaves_the_address() -> None:
    row = one_ended(Permanent("554 5.6.0 Refused"))
    assert (row.state, row.last_error, row.attempts) == ("failed", "554 5.6.0 Refused", 1)
    assert attempts(row) == [("permanent", "554 5.6.0 Refused")]
    assert row.destination.disabled_at is None


def test_an_address_that_is_none_is_disabled_with_the_servers_words() -> None:
    row = one_ended(Permanent("550 5.1.1 No such user", disables=True))
    assert row.state == "failed"
    assert (row.destination.disabled_at, row.destination.disabled_reason) == (NOW, "550 5.1.1 No such user")


@pytest.mark.parametrize(
    ("outcome", "policy", "state"),
    [
        (Ambiguous("lost"), "resend", "deferred"),
        (Ambiguous("lost"), "look up", "deferred"),
        (Ambiguous("lost"), "hold", "held"),
        (Ambiguous("check whether the post was published", holds=True), "look up", "held"),
    ],
)
def test_an_unknown_end_follows_the_crash_policy_and_keeps_its_beginning(
    outcome: Outcome, policy: str, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel("email"), "crash_policy", CrashPolicy(policy))
    row = one_ended(outcome)
    assert (row.state, row.begun_at, row.attempts) == (state, NOW, 1)
    assert [name for name, _ in attempts(row)] == ["ambiguous"]


def test_the_first_unknown_beginning_is_kept_through_later_ones() -> None:
    row = one_ended(Ambiguous("lost"))
    (job,) = claimed(now=row.due_at)
    assert job.begun_before == NOW
    (row,) = ended(Ambiguous("lost again"), job, at=row.due_at)
    assert row.begun_at == NOW


def test_a_letter_that_could_not_be_made_forgets_no_unknown_beginning() -> None:
    """Otherwise the next attempt would post again without looking for the first."""
    row = one_ended(Ambiguous("lost"))
    (row,) = ended(Temporary("The message cannot be made"), *claimed(now=row.due_at), begun=False)
    assert row.begun_at == NOW


def test_a_definite_answer_settles_an_unknown_beginning() -> None:
    row = one_ended(Ambiguous("lost"))
    (row,) = ended(BUSY, *claimed(now=row.due_at))
    assert row.begun_at is None


def test_a_kept_letter_is_stored_whole_with_its_subject() -> None:
    row = one_ended(Sent(stored=RAW))
    assert (row.state, row.sent_at) == ("stored", NOW)
    kept = MailboxMessage.objects.get()
    assert (kept.delivery, kept.subject, kept.recipient) == (row, "Grüße", row.destination.core)
    assert bytes(kept.raw) == RAW


def test_a_stored_letter_can_be_stored_anew_and_the_newest_is_kept() -> None:
    row = one_ended(Sent(stored=RAW))
    retry_delivery(delivery=row, now=NOW)
    ended(Sent(stored=RAW + b"again\r\n"), *claimed())
    assert bytes(MailboxMessage.objects.get().raw).endswith(b"again\r\n")


def test_a_stored_letter_that_is_sent_after_all_leaves_the_mailbox() -> None:
    row = one_ended(Sent(stored=RAW))
    other = MailboxMessageFactory()
    retry_delivery(delivery=row, now=NOW)
    (row,) = ended(Sent("queued as 1"), *claimed())
    assert row.state == "sent"
    assert MailboxMessage.objects.get() == other


def test_outcomes_of_many_are_recorded_together_each_as_its_own() -> None:
    queued(4)
    jobs = claimed()
    outcomes: tuple[Outcome, ...] = (Sent("a"), Permanent("no"), BUSY, Sent("b"))
    record_outcomes([ended_task(job, outcome, NOW) for job, outcome in zip(jobs, outcomes, strict=True)])
    rows = {row.pk: row for row in Delivery.objects.all()}
    assert [rows[job.pk].state for job in jobs] == ["sent", "failed", "deferred", "sent"]
    assert [rows[job.pk].remote_id for job in jobs] == ["a", "", "", "b"]
    assert Attempt.objects.count() == 2


@pytest.mark.parametrize("text", ["with a \x00 in it", "a lone \ud800 surrogate", "x" * 5000])
def test_whatever_a_server_says_can_be_recorded(text: str) -> None:
    row = one_ended(Temporary(text))
    assert row.state == "deferred"
    assert len(row.last_error) <= 2000
    assert [name for name, _ in attempts(row)] == ["temporary"]


def test_an_odd_remote_id_is_cut_and_cleaned() -> None:
    row = one_ended(Sent("id\x00" + "x" * 500))
    assert row.state == "sent"
    assert row.remote_id.startswith("idx")
    assert len(row.remote_id) == 255
