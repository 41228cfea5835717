"""Claims: their order, their size, and who is left out.

Each task from the claiming half ends once, however quick its sender is.
A dead worker's deliveries become due or are held, by the channel's crash policy.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from queue import SimpleQueue
from time import monotonic
from types import SimpleNamespace
from typing import Any, cast

import pytest

from channels import channel
from channels.base import CrashPolicy, Sent
from common.clock import utcnow
from delivery.engine import claim
from delivery.engine.child_protocol import Permit
from delivery.engine.claim import (
    DELIVERY_LEASE,
    LOST_WORDS,
    claim_due,
    give_back,
    has_much,
    reap_expired,
    with_due,
)
from delivery.engine.claimer import RATE_KNOWN_AFTER, Claimer, LanePool, PooledLane
from delivery.engine.send_task import Done, SendTask
from delivery.models import Delivery, Issue
from delivery.rules.limits import EXPECTED_RATE
from delivery.rules.outcomes import GIVE_UP
from tests.delivery.ledger import (
    HOUR,
    MINUTE,
    SECOND,
    a_lane,
    a_mail,
    attempts,
    claimed,
    cores,
    ended,
    queued,
    states,
)
from tests.factories import (
    NOW,
    DestinationFactory,
    IssueFactory,
    LeftFactory,
    SubscriptionFactory,
    SuppressionFactory,
    UnconfirmedFactory,
)

LATER = NOW + DELIVERY_LEASE + SECOND
pytestmark = pytest.mark.django_db


def test_a_claim_leases_and_notes_the_beginning() -> None:
    queued()
    (job,) = claimed()
    row = Delivery.objects.get()
    assert (row.state, row.lease_token, row.lease_until) == ("sending", job.token, NOW + DELIVERY_LEASE)
    assert row.begun_at == NOW
    assert job.begun_before is None


def test_what_is_claimed_is_claimed_once() -> None:
    queued(3)
    assert len(claimed()) == 3
    assert claimed() == ()


def test_a_confirmation_goes_before_letters_that_waited_longer() -> None:
    queued(2, due_at=NOW - HOUR)
    mail = a_mail(lane=Delivery.objects.all()[0].lane)
    assert claimed()[0].pk == mail.pk


def test_among_letters_the_one_that_is_due_longest_goes_first() -> None:
    for minutes in (1, 3, 2):
        queued(due_at=NOW - minutes * MINUTE)
    due = dict(Delivery.objects.values_list("pk", "due_at"))
    assert [NOW - due[job.pk] for job in claimed()] == [3 * MINUTE, 2 * MINUTE, MINUTE]


def test_a_claim_is_no_larger_than_what_the_connections_send_in_six_seconds() -> None:
    lane = a_lane(concurrency=1)
    queued(35, lane=lane)
    assert len(claimed(in_flight=20)) == 10
    assert len(claimed()) == 25


def test_only_what_is_urgent_is_claimed_by_a_worker_that_has_enough() -> None:
    lane = a_lane()
    queued(2, lane=lane)
    mail = a_mail(lane=lane)
    assert [job.pk for job in claim_due(lane_id=lane.pk, now=NOW, in_flight=0, urgent=True).rows] == [mail.pk]
    assert claim_due(lane_id=lane.pk, now=NOW, in_flight=0, urgent=True).rows == ()


def a_letter_for(subscription: Any) -> Delivery:
    issue = IssueFactory(subscribable=subscription.subscribable)
    (row,) = queued(issue=issue, subscription=subscription)
    return row


@pytest.mark.parametrize(
    ("subscription", "reason"),
    [
        (LeftFactory, "Left before it was sent."),
        (UnconfirmedFactory, "The subscription is no longer confirmed."),
    ],
)
def test_who_left_after_publishing_gets_nothing_and_the_row_says_why(subscription: Any, reason: str) -> None:
    row = a_letter_for(subscription())
    assert claimed() == ()
    row.refresh_from_db()
    assert (row.state, row.last_error, row.lease_token, row.begun_at) == ("cancelled", reason, None, None)
    assert row.attempts == 0


def test_a_suppressed_address_gets_nothing() -> None:
    subscription = SubscriptionFactory()
    SuppressionFactory(core=subscription.destination.core)
    row = a_letter_for(subscription)
    assert claimed() == ()
    row.refresh_from_db()
    assert (row.state, row.last_error) == ("cancelled", "The address is on the suppression list.")


def test_a_suppression_of_another_kind_or_address_changes_nothing() -> None:
    subscription = SubscriptionFactory()
    SuppressionFactory(core=subscription.destination.core, kind="mastodon")
    SuppressionFactory()
    a_letter_for(subscription)
    assert len(claimed()) == 1


def test_a_disabled_destination_gets_nothing_and_the_row_says_why() -> None:
    destination = DestinationFactory(disabled_at=NOW, disabled_reason="550 5.1.1 No such user")
    row = a_letter_for(SubscriptionFactory(destination=destination))
    assert claimed() == ()
    row.refresh_from_db()
    assert row.last_error == "The destination is disabled: 550 5.1.1 No such user"


def test_a_claim_that_only_cancels_asks_to_be_made_again() -> None:
    """Otherwise a command would end with letters still due."""
    lane = a_lane(concurrency=1)
    for _ in range(2):
        a_letter_for(LeftFactory())
    assert claim_due(lane_id=lane.pk, now=NOW, in_flight=5).again_at == NOW
    assert states() == {"cancelled": 1, "queued": 1}


def test_cancelling_takes_no_tokens_and_no_spacing() -> None:
    lane = a_lane(rate=1.0, burst=5, tokens=5, spacing_seconds=30)
    a_letter_for(LeftFactory())
    claimed()
    lane.refresh_from_db()
    assert (lane.tokens, lane.free_at) == (5, None)


def test_given_back_it_is_as_it_was_and_the_tokens_are_back() -> None:
    lane = a_lane(rate=1.0, burst=5, tokens=5)
    queued(2, lane=lane, due_at=NOW - MINUTE)
    before = list(Delivery.objects.order_by("pk").values())
    give_back(rows=claimed())
    assert list(Delivery.objects.order_by("pk").values()) == before
    lane.refresh_from_db()
    assert lane.tokens == 5


def test_given_back_an_unknown_beginning_is_still_known() -> None:
    queued(begun_at=NOW - HOUR)
    (job,) = claimed()
    assert job.begun_before == NOW - HOUR
    give_back(rows=[job])
    assert Delivery.objects.get().begun_at == NOW - HOUR


def test_what_is_not_ours_any_more_is_not_given_back() -> None:
    queued()
    jobs = claimed()
    Delivery.objects.update(state="held", lease_token=None, lease_until=None)
    give_back(rows=jobs)
    assert Delivery.objects.get().state == "held"


@pytest.mark.parametrize(
    "changes", [{"paused": True}, {"kind": "pigeon"}, {"free_at": NOW + HOUR}], ids=lambda c: next(iter(c))
)
def test_lanes_that_cannot_send_are_not_visited(changes: dict[str, Any]) -> None:
    queued(lane=a_lane(account="other", **changes))
    assert list(with_due(NOW)) == []


def test_a_lane_that_is_free_in_a_moment_is_visited() -> None:
    lane = a_lane(free_at=NOW + SECOND)
    queued(lane=lane)
    assert list(with_due(NOW)) == [lane]
    assert claim_due(lane_id=lane.pk, now=NOW, in_flight=0).again_at == NOW + SECOND


def test_a_lane_with_nothing_due_is_not_visited() -> None:
    queued(due_at=NOW + SECOND)
    assert list(with_due(NOW)) == []
    assert cores(claimed()) == []


def test_a_paused_issue_costs_as_few_questions_as_a_claim(django_assert_max_num_queries: Any) -> None:
    issue = IssueFactory()
    lane = queued(50, issue=issue)[0].lane
    Issue.objects.filter(pk=issue.pk).update(paused_at=NOW)
    with django_assert_max_num_queries(12):
        assert claim_due(lane_id=lane.pk, now=NOW, in_flight=0).rows == ()
    assert states() == {"held": 50}


def test_a_lane_has_much_when_more_is_due_than_a_worker_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim, "MUCH", 2)
    lane = a_lane()
    queued(2, lane=lane)
    queued(1, lane=lane, due_at=NOW + HOUR)
    assert not has_much(lane, NOW)
    assert has_much(lane, NOW + HOUR)


class Quick:
    """Sender whose letters have ended before `put` returns."""

    opened = width = 1
    stopped = False

    def __init__(self, done: Done) -> None:
        self._done = done

    def resize(self, width: int) -> None: ...

    def resume(self) -> None: ...

    def put(self, tasks: Sequence[SendTask]) -> None:
        for task in tasks:
            task.is_carried = False
        self._done.put(tasks)

    def settle(self, tasks: Sequence[SendTask]) -> None: ...

    def sweep(self) -> None: ...

    def cut_off(self) -> None: ...

    def leave(self) -> None: ...

    def join(self) -> None: ...


def handed_over(*, is_finishing: bool = False) -> list[SendTask]:
    """Hand over three tasks; return the ended ones."""
    queued(3, issue=IssueFactory())
    done: Done = SimpleQueue()
    permit = Permit(monotonic(), is_finishing=is_finishing)
    pool = LanePool(permit=permit, done=done, clock=utcnow)
    tasks = [SendTask(job) for job in claimed()]
    claimer = Claimer(pool=pool, permit=permit, in_flight=set(tasks), done=done, clock=utcnow)
    claimer._hand_over(PooledLane(Quick(done), SimpleQueue()), tasks)
    ended: list[SendTask] = []
    while not done.empty():
        ended += done.get()
    return ended


def test_each_ends_once() -> None:
    ended = handed_over()
    assert len(ended) == len(set(ended)) == 3


def test_what_is_not_made_any_more_comes_back_once() -> None:
    ended = handed_over(is_finishing=True)
    assert len(ended) == len(set(ended)) == 3
    assert {task.outcome for task in ended} == {None}


def pooled(ended: int, *, seconds: float, width: int) -> PooledLane:
    sender = cast(Any, SimpleNamespace(width=width))
    return PooledLane(sender, SimpleQueue(), ended=ended, opened_at=monotonic() - seconds)


def test_a_rate_is_of_one_connection_and_one_second() -> None:
    assert pooled(2_000, seconds=10, width=4).rate == pytest.approx(50, rel=0.1)


def test_until_enough_was_sent_and_when_it_goes_slowly_a_usual_rate_is_expected() -> None:
    assert pooled(RATE_KNOWN_AFTER - 1, seconds=0.001, width=1).rate == EXPECTED_RATE
    assert pooled(RATE_KNOWN_AFTER, seconds=3_600, width=1).rate == EXPECTED_RATE


@pytest.fixture
def holding() -> Iterator[None]:
    """Use the policy HOLD for email."""
    ours = channel("email")
    ours.crash_policy = CrashPolicy.HOLD
    yield
    ours.crash_policy = CrashPolicy.RESEND


def test_a_live_lease_is_left_alone() -> None:
    queued()
    claimed()
    assert reap_expired(now=NOW + DELIVERY_LEASE - SECOND) == 0
    assert states() == {"sending": 1}


def test_it_is_due_again_at_once_and_says_what_happened() -> None:
    queued()
    claimed()
    assert reap_expired(now=LATER) == 1
    row = Delivery.objects.get()
    assert (row.state, row.due_at, row.lease_token, row.lease_until) == ("queued", LATER, None, None)
    assert (row.begun_at, row.attempts, row.last_error) == (NOW, 1, LOST_WORDS)
    assert attempts(row) == [("lost", LOST_WORDS)]


def test_the_next_attempt_knows_that_an_earlier_one_was_begun() -> None:
    queued()
    claimed()
    reap_expired(now=LATER)
    (job,) = claimed(now=LATER)
    assert job.begun_before == NOW


@pytest.mark.usefixtures("holding")
def test_where_only_a_person_can_tell_it_is_held() -> None:
    queued()
    claimed()
    reap_expired(now=LATER)
    row = Delivery.objects.get()
    assert (row.state, row.begun_at, row.last_error) == ("held", NOW, LOST_WORDS)
    assert claimed(now=LATER) == ()


@pytest.mark.slow
def test_a_message_that_ends_every_worker_waits_longer_and_fails_in_the_end() -> None:
    queued(created_at=NOW)
    now, waits = NOW, []
    for _ in range(60):
        assert len(claimed(now=now)) == 1
        reap_expired(now=now + 2 * MINUTE)
        row = Delivery.objects.get()
        if row.state == "failed":
            break
        waits.append(row.due_at - (now + 2 * MINUTE))
        now = row.due_at
    assert row.state == "failed"
    assert timedelta(0) == waits[0] < waits[1] < waits[3] < waits[5]
    assert now - NOW <= GIVE_UP


def test_one_that_was_recorded_meanwhile_stays_as_it_is() -> None:
    queued()
    ended(Sent("ok"), *claimed())
    assert reap_expired(now=LATER) == 0
    assert states() == {"sent": 1}


def test_more_than_a_batch_is_reaped_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim, "REAPED_A_BATCH", 2)
    queued(5)
    claimed()
    assert reap_expired(now=LATER) == 5
    assert states() == {"queued": 5}


def test_a_channel_that_is_gone_is_held_and_stops_nobody() -> None:
    pigeon = a_lane(kind="pigeon")
    queued(lane=pigeon)
    queued(lane=a_lane())
    claimed(lane=pigeon)
    claimed(lane=Delivery.objects.get(lane__kind="email").lane)
    assert reap_expired(now=LATER) == 2
    assert states() == {"held": 1, "queued": 1}
