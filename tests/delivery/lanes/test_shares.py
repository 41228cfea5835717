"""Workers share a lane's connections by rows that expire."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.db.models import Sum

from delivery.lanes.limits import HELD_FOR, leave_shares, narrow_lane, take_share
from delivery.models import Lane, LaneShare
from tests.delivery.ledger import SECOND, a_lane
from tests.factories import NOW
from tests.races import beside

pytestmark = pytest.mark.django_db

ADA, BOB, CYD = uuid4(), uuid4(), uuid4()


def held() -> int:
    return int(LaneShare.objects.aggregate(total=Sum("connections"))["total"] or 0)


def test_one_worker_has_all_and_a_second_gets_its_half_when_the_first_renews() -> None:
    lane = a_lane(concurrency=10)
    assert take_share(lane.pk, ADA, NOW) == 10
    assert take_share(lane.pk, BOB, NOW) == 0
    assert take_share(lane.pk, ADA, NOW + SECOND) == 5
    assert take_share(lane.pk, BOB, NOW + SECOND) == 5
    assert take_share(lane.pk, CYD, NOW + SECOND) == 0
    assert [take_share(lane.pk, who, NOW + 2 * SECOND) for who in (ADA, BOB, CYD)] == [4, 4, 2]


def test_connections_that_are_not_closed_yet_stay_accounted_for() -> None:
    lane = a_lane(concurrency=10)
    take_share(lane.pk, ADA, NOW)
    take_share(lane.pk, BOB, NOW)
    assert take_share(lane.pk, ADA, NOW, still_open=8) == 5
    assert take_share(lane.pk, BOB, NOW) == 2
    assert held() == 10
    assert take_share(lane.pk, ADA, NOW, still_open=5) == 5
    assert take_share(lane.pk, BOB, NOW) == 5


def test_who_leaves_or_dies_makes_room() -> None:
    lane, other = a_lane(concurrency=10), a_lane(account="second", concurrency=4)
    for where in (lane, other):
        take_share(where.pk, ADA, NOW)
        take_share(where.pk, BOB, NOW)
    leave_shares(ADA)
    assert not LaneShare.objects.filter(holder=ADA).exists()
    assert take_share(lane.pk, BOB, NOW) == 10
    assert take_share(lane.pk, CYD, NOW + HELD_FOR - SECOND) == 0
    assert take_share(lane.pk, CYD, NOW + HELD_FOR) == 10
    assert not LaneShare.objects.filter(lane=lane, holder=BOB).exists()


def test_a_lane_that_was_made_narrower_narrows_at_the_next_renewal() -> None:
    lane = a_lane(concurrency=10)
    take_share(lane.pk, ADA, NOW)
    Lane.objects.update(concurrency=3)
    assert take_share(lane.pk, ADA, NOW + timedelta(seconds=15)) == 3


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_two_workers_that_ask_at_once_are_told_of_each_other() -> None:
    lane = a_lane(concurrency=10)
    shares = beside(lambda: take_share(lane.pk, ADA, NOW), lambda: take_share(lane.pk, BOB, NOW))
    assert shares == (10, 0)
    assert held() == 10


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_two_workers_that_are_refused_at_once_both_count() -> None:
    lane = a_lane(concurrency=10)
    for holder in (ADA, BOB):
        take_share(lane.pk, holder, NOW)
    take_share(lane.pk, ADA, NOW)
    take_share(lane.pk, BOB, NOW)

    def narrowed(holder: UUID, connections: int) -> None:
        narrow_lane(lane.pk, holder, connections=connections, said="421 Too many", now=NOW)

    beside(lambda: narrowed(ADA, 1), lambda: narrowed(BOB, 2))
    lane.refresh_from_db()
    assert lane.server_takes == 3
