"""A lane whose account cannot send rests, longer each time, and blames no message for it.

A serial lane in the database: one at a time, in order, waiting at most an hour for its head.
"""

from datetime import datetime, timedelta

import pytest
from django.db import connection

from channels.base import Sent, Temporary
from delivery.engine import claim
from delivery.engine.claim import claim_due, reap_expired
from delivery.engine.outcomes import record_outcomes
from delivery.issues.pause import retry_delivery
from delivery.models import Attempt, Delivery, Lane
from tests.delivery.ledger import HOUR, MINUTE, SECOND, a_lane, a_mail, claimed, ended, ended_task, queued
from tests.factories import NOW
from tests.races import beside

BUSY = Temporary("503 Slow down")
pytestmark = pytest.mark.django_db
STOP = Temporary("421 4.7.0 Too many connections", stops_lane=True, suspect=True)
FORBIDDEN = Temporary("403 Missing Permissions", stops_lane=True, forbidden=True)
DAY = timedelta(days=1)
# No connection, no login: no message is the cause.
AWAY = Temporary("It can’t be reached", stops_lane=True)


def rest(lane: Lane, since: datetime = NOW) -> timedelta:
    lane.refresh_from_db()
    assert lane.free_at is not None
    return lane.free_at - since


def about(seconds: float) -> object:
    return pytest.approx(seconds, rel=0.11)


def test_a_lane_that_was_stopped_rests_and_says_why() -> None:
    lane = a_lane()
    queued(2, lane=lane)
    ended(STOP, claimed()[0])
    assert rest(lane).total_seconds() == about(15)
    assert (lane.failures, lane.last_error) == (1, STOP.text)
    assert claimed(now=NOW + SECOND) == ()
    assert claim_due(lane_id=lane.pk, now=NOW + SECOND, in_flight=0).again_at == lane.free_at


def test_a_destination_that_refuses_us_rests_its_lane_by_the_hour_and_fails_no_message() -> None:
    lane, now = a_lane(serial=True), NOW
    queued(lane=lane)
    for day in range(6):
        now = NOW + day * DAY
        (row,) = ended(FORBIDDEN, *claimed(now=now), at=now)
        assert rest(lane, now) == (HOUR if day < 3 else DAY)
        assert (row.state, row.attempts) == ("queued", 0)
    assert lane.refused_since == NOW
    now = NOW + 6 * DAY
    (row,) = ended(Sent(), *claimed(now=now), at=now)
    lane.refresh_from_db()
    assert (row.state, lane.failures) == ("sent", 0)
    assert not lane.refused_since


@pytest.mark.parametrize(("kind", "ends"), [("edit", False), ("confirmation", True)])
def test_an_edit_that_is_taken_ends_no_refusal(kind: str, ends: bool) -> None:
    lane = a_lane(serial=True)
    queued(lane=lane)
    ended(FORBIDDEN, *claimed())
    Delivery.objects.all().delete()
    a_mail(kind, lane=lane)
    ended(Sent(), *claimed(now=NOW + HOUR), at=NOW + HOUR)
    lane.refresh_from_db()
    assert (lane.refused_since is None) is ends


def test_each_failure_in_a_row_makes_it_rest_twice_as_long() -> None:
    lane, now, rests = a_lane(), NOW, []
    queued(lane=lane)
    for _ in range(4):
        (row,) = ended(STOP, *claimed(now=now), at=now)
        rests.append(rest(lane, now).total_seconds())
        now = max(row.due_at, lane_is_free(lane))
    assert rests == [about(15), about(30), about(60), about(120)]


def test_all_connections_that_fail_at_once_count_as_one_failure() -> None:
    lane = a_lane()
    queued(5, lane=lane)
    jobs = claimed()
    ended(STOP, *jobs[:3])
    ended(STOP, *jobs[3:], at=NOW + 2 * SECOND)
    assert rest(lane).total_seconds() == about(15)
    assert lane.failures == 1


def test_a_later_time_that_one_of_them_heard_is_kept() -> None:
    lane = a_lane()
    queued(2, lane=lane)
    one, two = claimed()
    ended(STOP, one)
    ended(Temporary("429", retry_at=NOW + HOUR, stops_lane=True, suspect=True), two)
    assert rest(lane) == HOUR
    assert lane.failures == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_a_later_time_that_another_worker_heard_at_once_is_kept() -> None:
    lane = a_lane()
    queued(2, lane=lane)
    one, two = claimed()
    later = Temporary("429", retry_at=NOW + HOUR, stops_lane=True, suspect=True)
    beside(lambda: ended(later, one), lambda: ended(STOP, two))
    assert rest(lane) == HOUR
    assert lane.failures == 1


def test_a_lane_with_spacing_rests_longer_each_time_too() -> None:
    lane, now = a_lane(serial=True, concurrency=1, spacing_seconds=60), NOW
    queued(lane=lane)
    for _ in range(5):
        ((row,), last) = (ended(STOP, *claimed(now=now), at=now + SECOND), now)
        now = max(row.due_at, lane_is_free(lane))
    assert lane.failures == 5
    assert rest(lane, last) >= 3 * MINUTE


def test_the_spacing_of_the_message_is_kept_where_the_rest_is_shorter() -> None:
    lane = a_lane(serial=True, concurrency=1, spacing_seconds=60)
    queued(lane=lane)
    ended(STOP, *claimed())
    assert rest(lane) == MINUTE


def test_a_success_forgets_the_failures() -> None:
    lane = a_lane()
    queued(lane=lane)
    ended(STOP, *claimed())
    queued(lane=lane)
    ended(Sent("ok"), *claimed(now=lane_is_free(lane)))
    lane.refresh_from_db()
    assert (lane.failures, lane.last_error) == (0, "")


def test_an_outage_is_not_counted_against_the_messages() -> None:
    lane = a_lane()
    queued(3, lane=lane)
    rows = ended(STOP, *claimed())
    assert sorted(row.attempts for row in rows) == [0, 0, 1]
    assert {row.state for row in rows} == {"deferred"}
    now = NOW + HOUR
    for row in ended(STOP, *claimed(now=now), at=now):
        assert (row.attempts <= 1, row.due_at) == (True, now)


def test_a_message_that_alone_stops_the_lane_waits_longer_each_time() -> None:
    """Otherwise it would be retried after every rest, for ever, and delay all others."""
    lane, now = a_lane(), NOW
    (bad,) = queued(lane=lane)
    for count in range(1, 4):
        (row,) = ended(STOP, *claimed(now=now), at=now)
        assert (row.pk, row.attempts) == (bad.pk, count)
        now = max(row.due_at, lane_is_free(lane))
        queued(lane=lane, due_at=NOW)
        good = [job for job in claimed(now=now - SECOND) if job.pk != bad.pk]
        ended(Sent("ok"), *good, at=now)
    assert row.due_at - NOW >= 3 * MINUTE


def lane_is_free(lane: Lane) -> datetime:
    lane.refresh_from_db()
    assert lane.free_at is not None
    return lane.free_at


def test_one_that_failed_and_one_that_arrived_together_leave_the_lane_resting() -> None:
    lane = a_lane()
    queued(2, lane=lane)
    one, two = claimed()
    record_outcomes([ended_task(one, STOP), ended_task(two, Sent("ok"))])
    assert rest(lane).total_seconds() == about(15)
    assert lane.failures == 1


def test_a_lane_that_cannot_be_reached_counts_against_no_message_and_leaves_no_attempt() -> None:
    lane, now = a_lane(), NOW
    queued(3, lane=lane)
    for _ in range(20):
        rows = ended(AWAY, *claimed(now=now), at=now)
        facts = {(row.state, row.attempts, row.due_at, row.last_error) for row in rows}
        assert facts == {("queued", 0, NOW, "")}
        now = lane_is_free(lane)
    assert Attempt.objects.count() == 0
    assert lane.last_error == AWAY.text


def test_an_outage_of_days_does_not_end_a_letter_at_its_first_own_trouble() -> None:
    lane = a_lane()
    queued(lane=lane)
    ended(AWAY, *claimed())
    now = NOW + timedelta(days=9)
    (row,) = ended(Temporary("450 4.2.0 Greylisted"), *claimed(now=now), at=now)
    assert (row.state, row.attempts) == ("deferred", 1)


def test_a_lane_comes_back_step_by_step_while_letters_wait() -> None:
    lane, now = a_lane(), NOW
    queued(20, lane=lane)
    for _ in range(3):
        ended(STOP, claimed(now=now)[0], at=now)
        Delivery.objects.filter(state="sending").update(state="queued", lease_token=None, lease_until=None)
        now = max(now, lane_is_free(lane)) + HOUR
    levels = []
    for _ in range(3):
        job = claimed(now=now)[0]
        ended(Sent("ok"), job, at=now)
        Delivery.objects.filter(state="sending").update(state="queued", lease_token=None, lease_until=None)
        lane.refresh_from_db()
        levels.append((lane.failures, bool(lane.last_error)))
    assert levels == [(2, True), (1, True), (0, False)]


def test_what_was_claimed_before_the_lane_stopped_does_not_speed_it_up() -> None:
    lane = a_lane()
    queued(5, lane=lane)
    first, second, *others = claimed()
    ended(STOP, first)
    ended(Sent("ok"), second, at=NOW + SECOND)
    lane.refresh_from_db()
    assert (lane.failures, lane.free_at is not None) == (1, True)
    assert others


def test_two_workers_that_sent_at_the_same_speed_make_it_one_step_faster() -> None:
    lane = a_lane()
    Lane.objects.update(failures=3, free_at=NOW - SECOND)
    queued(4, lane=lane)
    first, second, *_ = claimed()
    ended(Sent("ok"), first)
    ended(Sent("ok"), second)
    lane.refresh_from_db()
    assert lane.failures == 2


def test_a_success_from_before_the_last_stop_makes_no_step_back() -> None:
    lane = a_lane()
    Lane.objects.update(failures=3, free_at=NOW - SECOND)
    queued(4, lane=lane)
    first, second, *_ = claimed()
    ended(STOP, first)
    ended(Sent("ok"), second)
    lane.refresh_from_db()
    assert lane.failures == 4


def test_a_lane_with_nothing_left_to_send_is_well_at_once() -> None:
    lane = a_lane()
    Lane.objects.update(failures=6, last_error="421 4.7.0 Too many", free_at=NOW - SECOND)
    queued(lane=lane)
    ended(Sent("ok"), *claimed())
    lane.refresh_from_db()
    assert (lane.failures, lane.last_error, lane.free_at) == (0, "", None)


def test_a_serial_lane_that_sends_again_is_well_and_keeps_its_pause() -> None:
    lane = a_lane(serial=True, concurrency=1, spacing_seconds=60)
    Lane.objects.update(failures=6, free_at=NOW - SECOND)
    queued(2, lane=lane)
    ended(Sent("ok"), *claimed(), at=NOW + SECOND)
    lane.refresh_from_db()
    assert (lane.failures, lane.free_at) == (0, NOW + MINUTE)


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
