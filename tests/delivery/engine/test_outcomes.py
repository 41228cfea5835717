"""Each outcome: its state, its retry, and its record.

Outcomes after the lease is lost: an acceptance is always recorded, anything else is not.
"""

from datetime import timedelta

import pytest
from django.utils import timezone

from channels import channel
from channels.base import Ambiguous, CrashPolicy, Outcome, Permanent, Sent, Temporary
from delivery.engine.claim import reap_expired
from delivery.engine.outcomes import hold_unrecorded, record_outcomes
from delivery.engine.send_pass import settle
from delivery.engine.send_task import ClaimedDelivery, SendTask
from delivery.issues.pause import retry_delivery
from delivery.models import Attempt, Delivery, Lane, MailboxMessage
from tests.delivery.ledger import HOUR, MINUTE, attempts, claimed, ended, ended_task, one_ended, queued
from tests.factories import NOW, MailboxMessageFactory

LATE = NOW + 5 * MINUTE
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


def a_late_job() -> ClaimedDelivery:
    """Return a claimed delivery whose lease was reaped."""
    queued()
    (job,) = claimed()
    assert reap_expired(now=LATE) == 1
    return job


@pytest.mark.parametrize("state", ["queued", "deferred", "failed", "held", "cancelled"])
def test_a_late_acceptance_makes_it_sent_whatever_it_was(state: str) -> None:
    job = a_late_job()
    Delivery.objects.update(state=state)
    (row,) = ended(Sent("late"), job, at=LATE)
    assert (row.state, row.remote_id, row.sent_at) == ("sent", "late", LATE)
    assert [name for name, _ in attempts(row)] == ["lost"]


def test_a_late_acceptance_takes_it_from_whoever_claimed_it_meanwhile() -> None:
    job = a_late_job()
    (other,) = claimed(now=LATE)
    (row,) = ended(Sent("late"), job, at=LATE)
    assert (row.state, row.lease_token) == ("sent", None)
    assert ("accepted twice", "late") in attempts(row)
    (row,) = ended(Temporary("busy"), other, at=LATE)
    assert (row.state, row.remote_id) == ("sent", "late")


def test_two_acceptances_are_both_written_down() -> None:
    job = a_late_job()
    ended(Sent("second"), *claimed(now=LATE), at=LATE)
    (row,) = ended(Sent("first"), job, at=LATE + MINUTE)
    assert (row.state, row.remote_id, row.sent_at) == ("sent", "second", LATE)
    assert attempts(row)[-1] == ("accepted twice", "first")


@pytest.mark.parametrize(
    "outcome",
    [Temporary("busy"), Permanent("no", disables=True), Ambiguous("lost"), Ambiguous("?", holds=True)],
)
def test_any_other_late_outcome_changes_nothing(outcome: Outcome) -> None:
    job = a_late_job()
    before = Delivery.objects.values().get()
    (row,) = ended(outcome, job, at=LATE)
    assert Delivery.objects.values().get() == before
    assert row.destination.disabled_at is None
    assert [name for name, _ in attempts(row)] == ["lost"]


def test_a_late_failure_leaves_the_claim_of_another_alone() -> None:
    job = a_late_job()
    (other,) = claimed(now=LATE)
    (row,) = ended(Temporary("busy"), job, at=LATE)
    assert (row.state, row.lease_token) == ("sending", other.token)


@pytest.mark.parametrize("outcome", [Sent(stored=b"x"), Sent("250 Ok"), Sent()])
def test_recording_once_more_after_a_doubtful_commit_changes_nothing(outcome: Sent) -> None:
    queued(3)
    jobs = claimed()
    times = (NOW, NOW + MINUTE, NOW + 2 * MINUTE)
    tasks = [ended_task(job, outcome, at) for job, at in zip(jobs, times, strict=True)]
    record_outcomes(tasks)
    before = list(Delivery.objects.order_by("pk").values())
    record_outcomes(tasks)
    assert list(Delivery.objects.order_by("pk").values()) == before
    assert Attempt.objects.count() == 0
    assert MailboxMessage.objects.count() == (3 if outcome.stored else 0)


def test_a_failure_recorded_once_more_is_counted_once() -> None:
    queued()
    (job,) = claimed()
    stop = Temporary("421 Too many connections", stops_lane=True, suspect=True)
    ended(stop, job)
    (row,) = ended(stop, job)
    assert (row.attempts, len(attempts(row)), Lane.objects.get().failures) == (1, 1, 1)


def test_a_delivery_that_was_deleted_meanwhile_stops_no_other() -> None:
    queued(2)
    gone, there = claimed()
    Delivery.objects.filter(pk=gone.pk).delete()
    record_outcomes([ended_task(gone, Sent(stored=b"x"), NOW), ended_task(there, Sent(stored=b"x"), NOW)])
    assert Delivery.objects.get().state == "stored"
    assert MailboxMessage.objects.get().delivery_id == there.pk


def test_an_outcome_that_cannot_be_recorded_is_held_and_the_others_are_recorded() -> None:
    queued(2)
    bad, good = claimed()
    naive = timezone.make_naive(NOW)
    tasks = [
        SendTask(bad, outcome=Temporary("odd", retry_at=naive), at=NOW, begun=True),
        SendTask(good, outcome=Sent("ok"), at=NOW, begun=True),
    ]
    settle(tasks)
    bad_row, good_row = Delivery.objects.get(pk=bad.pk), Delivery.objects.get(pk=good.pk)
    assert (good_row.state, good_row.remote_id) == ("sent", "ok")
    assert (bad_row.state, bad_row.lease_token) == ("held", None)
    assert "could not be recorded" in bad_row.last_error


def test_holding_needs_the_lease_too() -> None:
    job = a_late_job()
    (other,) = claimed(now=LATE)
    hold_unrecorded(row=job, reason="odd")
    row = Delivery.objects.get()
    assert (row.state, row.lease_token) == ("sending", other.token)
