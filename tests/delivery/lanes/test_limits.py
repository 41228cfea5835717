"""Limits of a lane and its domains, over claims and workers.

Workers share a lane's connections by rows that expire.
A domain is paused once, and its held letters continue in place.
A lane's figures for admins.
"""

from datetime import date, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.db.models import Sum
from django.test.utils import CaptureQueriesContext

from delivery.engine.claim import claim_due
from delivery.lanes import limits
from delivery.lanes.lanes import last_day
from delivery.lanes.limits import WHOLE_LANE, count, pause_domain, resume_domain, room, sift, use
from delivery.lanes.shares import HELD_FOR, leave_shares, narrow_lane, take_share
from delivery.models import Delivery, Lane, LaneDomain, LaneShare, LaneUse
from delivery.rules.limits import CLAIM_SECONDS
from tests.delivery.ledger import (
    HOUR,
    MINUTE,
    SECOND,
    a_lane,
    a_mail,
    finish,
    give_back,
    limited,
    queued,
    states,
    take,
)
from tests.factories import NOW
from tests.races import beside

ADA, BOB, CYD = uuid4(), uuid4(), uuid4()
pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
SLOW: dict[str, Any] = {"rate": 1.0, "burst": 5, "tokens": 5}
LIMITED: list[tuple[dict[str, Any], int]] = [
    (SLOW, 5),
    ({"per_hour": 6}, 6),
    ({"per_day": 7}, 7),
    ({"warm_up_from": NOW.date(), "warm_up_first": 3}, 3),
    ({"concurrency": 2}, 2),
    ({"free_at": NOW + HOUR}, 0),
    ({**SLOW, "per_hour": 9, "concurrency": 4}, 4),
]


def test_without_limits_a_claim_writes_nothing_and_asks_once() -> None:
    lane = a_lane()
    rows = [(number, "example.org") for number in range(5)]
    with CaptureQueriesContext(connection) as seen:
        assert room(lane, NOW)[0] == 10 * CLAIM_SECONDS
        assert sift(lane, rows, NOW)[0] == [0, 1, 2, 3, 4]
        use(lane, {"example.org": 5}, NOW)
    assert len(seen) == 1
    assert "lanedomain" in seen.captured_queries[0]["sql"]


def test_a_worker_claims_what_its_connections_send_while_the_lease_is_young() -> None:
    lane = a_lane(concurrency=10)
    assert room(lane, NOW, in_flight=50)[0] == 10 * CLAIM_SECONDS - 50
    assert room(lane, NOW, connections=3)[0] == 3 * CLAIM_SECONDS
    assert room(lane, NOW, connections=3, expected=20)[0] == 60 * CLAIM_SECONDS
    assert room(lane, NOW, connections=0)[0] == 0
    assert room(lane, NOW, connections=99)[0] == 10 * CLAIM_SECONDS


def test_an_hour_limit_holds_over_claims_and_says_when_it_goes_on() -> None:
    lane = a_lane(per_hour=10)
    queued(25, lane=lane)
    assert len(take(lane)) == 10
    assert take(lane, NOW + 59 * MINUTE) == []
    lane.refresh_from_db()
    assert room(lane, NOW + MINUTE)[1] == NOW + HOUR + MINUTE
    assert len(take(lane, NOW + HOUR + MINUTE)) == 10
    assert states() == {"sending": 20, "queued": 5}
    # Letters that the lane itself delays stay due.
    assert Delivery.objects.due(NOW).filter(lane=lane).count() == 5


def test_a_day_limit_slides() -> None:
    lane = a_lane(per_day=10)
    queued(20, lane=lane)
    assert len(take(lane, most=4)) == 4
    assert len(take(lane, NOW + 10 * HOUR)) == 6
    assert take(lane, NOW + DAY) == []
    assert len(take(lane, NOW + DAY + MINUTE)) == 4
    assert len(take(lane, NOW + DAY + 10 * HOUR + MINUTE)) == 6


def test_a_warm_up_lets_more_go_each_day() -> None:
    lane = a_lane(warm_up_from=NOW.date(), warm_up_first=4, warm_up_growth=2)
    queued(20, lane=lane)
    taken = [len(take(lane, NOW + days * DAY + days * MINUTE)) for days in range(3)]
    assert taken == [4, 8, 8]


def test_a_warm_up_that_is_over_limits_nothing() -> None:
    lane = a_lane(warm_up_from=date(2020, 1, 1), warm_up_first=4, warm_up_growth=2)
    assert room(lane, NOW)[0] == 10 * CLAIM_SECONDS


def test_what_is_given_back_was_not_used() -> None:
    lane = a_lane(per_hour=10, rate=0.001, burst=10, tokens=10)
    row = limited(lane, "example.org", per_hour=10, rate=0.001, burst=10, tokens=10)
    queued(20, lane=lane)
    taken = take(lane)
    assert len(taken) == 10
    give_back(lane, taken[:4])
    row.refresh_from_db()
    assert row.tokens == pytest.approx(4)
    Delivery.objects.update(due_at=NOW)
    assert len(take(lane, NOW + 30 * SECOND)) == 4


def test_a_spaced_lane_rests_after_each() -> None:
    lane = a_lane(spacing_seconds=60, concurrency=1)
    queued(2, lane=lane)
    assert len(take(lane, most=1)) == 1
    lane.refresh_from_db()
    assert room(lane, NOW)[1] == NOW + MINUTE


@pytest.mark.parametrize(("limits", "count"), LIMITED)
def test_each_limit_of_a_domain_puts_off_the_rest_and_lets_other_domains_pass(
    limits: dict[str, Any], count: int
) -> None:
    lane = a_lane()
    limited(lane, **limits)
    slow = {row.pk for row in queued(20, lane=lane, domain="gmail.example")}
    others = {row.pk for row in queued(5, lane=lane)}
    taken = set(take(lane))
    assert taken & others == others
    assert len(taken & slow) == count
    assert set(take(lane)) == set()
    assert not Delivery.objects.due(NOW).exists()
    late = Delivery.objects.filter(state="queued")
    assert late.count() == 20 - count
    assert all(NOW < row.due_at <= NOW + DAY + HOUR for row in late)


def test_what_is_put_off_goes_in_the_end_and_never_faster_than_the_limit() -> None:
    lane = a_lane()
    limited(lane, **SLOW)
    queued(40, lane=lane, domain="gmail.example")
    taken, moment = 0, NOW
    while Delivery.objects.filter(state="queued").exists():
        taken += len(take(lane, moment))
        assert taken <= 5 + (moment - NOW).total_seconds()
        moment += SECOND
    assert moment <= NOW + 45 * SECOND


def test_what_an_hour_or_a_day_puts_off_is_due_when_there_is_room_again() -> None:
    lane = a_lane()
    for domain, most in (("a.example", {"per_hour": 3}), ("b.example", {"per_day": 3})):
        limited(lane, domain, **most)
        queued(4, lane=lane, domain=domain)
    assert len(take(lane, NOW + 40 * SECOND)) == 6
    waiting = dict(Delivery.objects.filter(state="queued").values_list("domain", "due_at"))
    assert waiting == {"a.example": NOW + HOUR + MINUTE, "b.example": NOW + DAY + MINUTE}


def test_a_hundred_thousand_rows_are_not_touched_again_every_second() -> None:
    lane = a_lane()
    limited(lane, rate=1.0, burst=1, tokens=0)
    queued(60, lane=lane, domain="gmail.example")
    while take(lane, most=10) or Delivery.objects.due(NOW).exists():
        pass
    # Each claim queued behind the letters delayed before: a second each, in groups.
    dues = sorted(row.due_at for row in Delivery.objects.all())
    assert dues[0] == NOW + SECOND
    assert dues[-1] >= NOW + 55 * SECOND
    touched = Delivery.objects.due(NOW + 10 * SECOND).count()
    assert touched <= 11


def test_a_mail_that_somebody_waits_for_is_put_off_to_the_next_opening_only() -> None:
    lane = a_lane()
    limited(lane, rate=0.1, burst=1, tokens=0)
    queued(30, lane=lane, domain="gmail.example")
    take(lane)
    mail = a_mail(lane=lane, domain="gmail.example", due_at=NOW + SECOND)
    assert take(lane, NOW + SECOND) == []
    mail.refresh_from_db()
    assert mail.due_at == NOW + 10 * SECOND
    assert take(lane, NOW + 10 * SECOND) == [mail.pk]


def test_a_paused_domain_is_held_and_others_are_not() -> None:
    lane = a_lane()
    limited(lane, paused=True)
    queued(3, lane=lane, domain="gmail.example")
    queued(2, lane=lane)
    assert len(take(lane)) == 2
    assert Delivery.objects.filter(state="held", held_for="domain").count() == 3


def test_a_domain_has_no_more_under_way_than_it_may() -> None:
    lane = a_lane()
    limited(lane, concurrency=2)
    queued(5, lane=lane, domain="gmail.example")
    first = take(lane)
    assert len(first) == 2
    assert take(lane, NOW + 2 * SECOND) == []
    finish(first[:1])
    assert len(take(lane, NOW + 4 * SECOND)) == 1


def test_limits_of_one_lane_are_none_of_another() -> None:
    lane, other = a_lane(), a_lane(account="second")
    limited(lane, paused=True)
    queued(2, lane=other, domain="gmail.example")
    assert len(take(other)) == 2


def test_counts_are_pruned_as_new_ones_come() -> None:
    lane = a_lane(per_hour=10)
    queued(3, lane=lane)
    take(lane, most=1)
    take(lane, NOW + 20 * SECOND, most=1)
    assert LaneUse.objects.get().count == 2
    take(lane, NOW + 26 * HOUR)
    assert LaneUse.objects.get().minute == NOW + 26 * HOUR


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
@pytest.mark.parametrize("limits", [{"per_hour": 10}, {"per_day": 10}, {"rate": 0.001, "tokens": 10}])
@pytest.mark.parametrize("whose", ["lane", "domain"])
def test_two_workers_at_once_together_take_no_more_than_the_limit(whose: str, limits: dict[str, Any]) -> None:
    lane = a_lane(**(limits if whose == "lane" else {}))
    if whose == "domain":
        limited(lane, "example.org", **limits)
    queued(30, lane=lane)
    first, second = beside(lambda: take(lane, most=6), lambda: take(lane, most=6), blocks=False)
    # The second found the lane locked.
    assert (len(first), len(second)) == (6, 0)
    assert len(take(lane, most=6)) == 4
    assert take(lane, NOW + SECOND) == []
    assert states()["sending"] == 10


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_giving_back_beside_a_claim_loses_no_count() -> None:
    lane = a_lane(per_hour=10, rate=0.001, tokens=10)
    queued(20, lane=lane)
    taken = take(lane, most=6)
    beside(lambda: take(lane, NOW + SECOND, most=2), lambda: give_back(lane, taken))
    assert LaneUse.objects.get().count == 2
    assert Lane.objects.get().tokens == pytest.approx(8, abs=0.01)


def test_a_domain_is_matched_by_its_whole_name() -> None:
    lane = a_lane()
    limited(lane, paused=True)
    queued(1, lane=lane, domain="mail.gmail.example")
    assert len(take(lane)) == 1
    assert LaneDomain.objects.count() == 1


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


def pause(lane_id: int, domain: str = "example.org", reason: str = "It refuses.") -> bool:
    return pause_domain(lane_id=lane_id, domain=domain, reason=reason, now=NOW)


def resume(lane_id: int, domain: str = "example.org") -> int:
    return resume_domain(lane_id=lane_id, domain=domain, now=NOW + HOUR)


def held_for_domain(count: int, **changes: Any) -> list[Delivery]:
    return queued(count, **{"state": "held", "held_for": "domain", **changes})


def test_pausing_makes_the_row_and_keeps_the_first_reason() -> None:
    lane = a_lane()
    assert pause(lane.pk, reason="It\nrefuses.")
    assert not pause(lane.pk, reason="Another reason.")
    row = LaneDomain.objects.get()
    assert (row.lane, row.domain, row.paused, row.paused_reason) == (lane, "example.org", True, "It refuses.")


def test_a_domain_that_has_limits_is_paused_with_them() -> None:
    lane = a_lane()
    LaneDomain.objects.create(lane=lane, domain="example.org", rate=5.0)
    assert pause(lane.pk)
    assert not pause(lane.pk)
    row = LaneDomain.objects.get()
    assert (row.paused, row.rate) == (True, 5.0)


def test_what_goes_to_no_domain_cannot_be_paused_by_one() -> None:
    assert not pause(a_lane().pk, domain="")
    assert not LaneDomain.objects.exists()


def test_resuming_queues_what_was_held_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DOMAIN_BATCH", 2)
    lane = a_lane()
    pause(lane.pk)
    held_for_domain(5, attempts=3)
    assert resume(lane.pk) == 5
    row = LaneDomain.objects.get()
    assert (row.paused, row.paused_reason) == (False, "")
    facts = set(Delivery.objects.values_list("state", "held_for", "due_at", "created_at", "attempts"))
    assert facts == {("queued", "", NOW + HOUR, NOW + HOUR, 3)}
    assert resume(lane.pk) == 0


def test_resuming_touches_nothing_else() -> None:
    lane, other = a_lane(), a_lane(account="other")
    for each in (lane, other):
        pause(each.pk)
    held_for_domain(1, domain="elsewhere.example")
    held_for_domain(1, lane=other)
    held_for_domain(1, held_for="pause")
    held_for_domain(1, held_for="")
    queued(1, state="failed")
    before = states()
    assert resume(lane.pk) == 0
    assert states() == before
    assert list(LaneDomain.objects.filter(paused=True).values_list("lane", flat=True)) == [other.pk]


def test_a_domain_without_a_row_can_be_resumed() -> None:
    lane = a_lane()
    held_for_domain(2)
    assert resume(lane.pk) == 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_letters_that_a_claim_is_holding_go_on_as_well() -> None:
    lane = a_lane()
    pause(lane.pk)
    queued(3, lane=lane)
    _, count = beside(lambda: claim_due(lane_id=lane.pk, now=NOW, in_flight=0), lambda: resume(lane.pk))
    assert count == 3
    assert states() == {"queued": 3}


def test_the_last_day_is_shown_hour_by_hour_and_nothing_before_it() -> None:
    lane, midnight = a_lane(), NOW.replace(minute=0, second=0, microsecond=0)
    for hours, number in ((25, 7), (24, 9), (23.5, 1), (1.5, 2), (1.25, 3), (0, 4)):
        count(lane, {WHOLE_LANE: number, "x.example": number}, midnight - hours * HOUR)
    count(a_lane(account="another"), {WHOLE_LANE: 100}, midnight - HOUR)
    shown = last_day(lane, midnight, parts=24)
    assert [begins for begins, _ in shown] == [midnight - (24 - part) * HOUR for part in range(24)]
    assert [number for _, number in shown] == [1, *([0] * 21), 5, 4]
