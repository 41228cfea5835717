"""A serial lane in the database: one at a time, in order, waiting at most an hour for its head."""

import pytest

from channels.base import Sent, Temporary
from delivery.engine import claim
from delivery.engine.claim import reap_expired
from delivery.issues.pause import retry_delivery
from delivery.models import Delivery, Lane
from tests.delivery.ledger import HOUR, MINUTE, a_lane, claimed, ended, queued
from tests.factories import NOW

pytestmark = pytest.mark.django_db

BUSY = Temporary("503 Slow down")


@pytest.fixture
def lane() -> Lane:
    return a_lane(serial=True, concurrency=1)


def next_pk(minutes: int = 0) -> int | None:
    jobs = claimed(now=NOW + minutes * MINUTE)
    assert len(jobs) <= 1
    return jobs[0].pk if jobs else None


def test_it_sends_one_at_a_time_in_order(lane: Lane) -> None:
    rows = queued(3, lane=lane)
    sent = []
    for _ in range(3):
        (job,) = claimed()
        assert claimed() == ()
        ended(Sent("ok"), job)
        sent.append(job.pk)
    assert sent == [row.pk for row in rows]


def test_a_head_that_failed_holds_the_others_back_for_an_hour(lane: Lane) -> None:
    _, second = queued(2, lane=lane)
    ended(Temporary("503", retry_at=NOW + 3 * HOUR), *claimed())
    assert next_pk(59) is None
    assert next_pk(60) == second.pk


def test_a_passed_head_still_goes_when_it_is_due(lane: Lane) -> None:
    (head,) = queued(lane=lane)
    ended(Temporary("503", retry_at=NOW + 3 * HOUR), *claimed())
    assert next_pk(180) == head.pk


def test_a_held_head_never_holds_anybody_back(lane: Lane) -> None:
    head, second = queued(2, lane=lane)
    Delivery.objects.filter(pk=head.pk).update(state="held")
    assert next_pk() == second.pk


def test_many_old_ones_that_wait_do_not_hide_the_next(lane: Lane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim, "SERIAL_QUEUE", 3)
    queued(4, lane=lane, state="deferred", created_at=NOW - 2 * HOUR, due_at=NOW + HOUR)
    (fresh,) = queued(lane=lane)
    assert next_pk() == fresh.pk


def test_one_that_is_being_sent_is_seen_wherever_it_stands(
    lane: Lane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claim, "SERIAL_QUEUE", 1)
    early, late = queued(2, lane=lane)
    Delivery.objects.filter(pk=early.pk).update(state="failed")
    assert next_pk() == late.pk
    early.refresh_from_db()
    retry_delivery(delivery=early, now=NOW)
    assert next_pk() is None


def test_a_dead_workers_head_is_first_again(lane: Lane) -> None:
    head, _ = queued(2, lane=lane)
    assert next_pk() == head.pk
    assert next_pk(2) is None
    reap_expired(now=NOW + 2 * MINUTE)
    assert next_pk(2) == head.pk


def test_a_paused_lane_sends_nothing(lane: Lane) -> None:
    queued(lane=lane)
    Lane.objects.update(paused=True)
    assert next_pk() is None


def test_two_lanes_do_not_wait_for_each_other(lane: Lane) -> None:
    queued(lane=lane)
    other = a_lane(account="other", serial=True, concurrency=1)
    (row,) = queued(lane=other)
    assert len(claimed(lane=lane)) == 1
    assert [job.pk for job in claimed(lane=other)] == [row.pk]
    assert ended(BUSY, *claimed(lane=other)) == []
