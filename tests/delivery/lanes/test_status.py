"""A lane's figures for admins."""

from datetime import timedelta

import pytest

from delivery.lanes.lanes import last_day
from delivery.lanes.limits import WHOLE_LANE, count
from tests.delivery.ledger import a_lane
from tests.factories import NOW

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


def test_the_last_day_is_shown_hour_by_hour_and_nothing_before_it() -> None:
    lane, midnight = a_lane(), NOW.replace(minute=0, second=0, microsecond=0)
    for hours, number in ((25, 7), (24, 9), (23.5, 1), (1.5, 2), (1.25, 3), (0, 4)):
        count(lane, {WHOLE_LANE: number, "x.example": number}, midnight - hours * HOUR)
    count(a_lane(account="another"), {WHOLE_LANE: 100}, midnight - HOUR)
    shown = last_day(lane, midnight, parts=24)
    assert [begins for begins, _ in shown] == [midnight - (24 - part) * HOUR for part in range(24)]
    assert [number for _, number in shown] == [1, *([0] * 21), 5, 4]
