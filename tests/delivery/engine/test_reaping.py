"""A dead worker's deliveries become due or are held, by the channel's crash policy."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from channels import channel
from channels.base import CrashPolicy, Sent
from delivery.engine import claim
from delivery.engine.claim import DELIVERY_LEASE, LOST_WORDS, reap_expired
from delivery.models import Delivery
from delivery.rules.outcomes import GIVE_UP
from tests.delivery.ledger import MINUTE, SECOND, a_lane, attempts, claimed, ended, queued, states
from tests.factories import NOW

pytestmark = pytest.mark.django_db

LATER = NOW + DELIVERY_LEASE + SECOND


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
