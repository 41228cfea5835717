"""A domain is paused once, and its held letters continue in place."""

from typing import Any

import pytest
from django.db import connection

from delivery.engine.claim import claim_due
from delivery.lanes import limits
from delivery.lanes.limits import pause_domain, resume_domain
from delivery.models import Delivery, LaneDomain
from tests.delivery.ledger import HOUR, a_lane, queued, states
from tests.factories import NOW
from tests.races import beside

pytestmark = pytest.mark.django_db


def pause(lane_id: int, domain: str = "example.org", reason: str = "It refuses.") -> bool:
    return pause_domain(lane_id=lane_id, domain=domain, reason=reason, now=NOW)


def resume(lane_id: int, domain: str = "example.org") -> int:
    return resume_domain(lane_id=lane_id, domain=domain, now=NOW + HOUR)


def held(count: int, **changes: Any) -> list[Delivery]:
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
    held(5, attempts=3)
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
    held(1, domain="elsewhere.example")
    held(1, lane=other)
    held(1, held_for="pause")
    held(1, held_for="")
    queued(1, state="failed")
    before = states()
    assert resume(lane.pk) == 0
    assert states() == before
    assert list(LaneDomain.objects.filter(paused=True).values_list("lane", flat=True)) == [other.pk]


def test_a_domain_without_a_row_can_be_resumed() -> None:
    lane = a_lane()
    held(2)
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
