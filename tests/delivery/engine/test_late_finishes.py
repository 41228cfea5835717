"""Outcomes after the lease is lost: an acceptance is always recorded, anything else is not."""

import pytest
from django.utils import timezone

from channels.base import Ambiguous, Outcome, Permanent, Sent, Temporary
from delivery.engine.claim import reap_expired
from delivery.engine.outcomes import hold_unrecorded, record_outcomes
from delivery.engine.send_pass import settle
from delivery.engine.send_task import ClaimedDelivery, SendTask
from delivery.models import Attempt, Delivery, Lane, MailboxMessage
from tests.delivery.ledger import MINUTE, attempts, claimed, ended, ended_task, queued
from tests.factories import NOW

pytestmark = pytest.mark.django_db

LATE = NOW + 5 * MINUTE


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
