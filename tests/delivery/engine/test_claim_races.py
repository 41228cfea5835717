"""Claims of two workers at once, each with its own connection to PostgreSQL. Each fails without its guard."""

from typing import Any

import pytest
from django.db import connection

from delivery.engine.send_task import ClaimedDelivery
from delivery.models import Delivery, Lane, LaneUse, Restore
from tests.delivery.ledger import HOUR, a_lane, a_mail, claimed, queued, states
from tests.delivery.limits import limited
from tests.factories import NOW
from tests.races import beside

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time"),
]


def mail_comes_and_is_claimed(lane: Lane) -> tuple[ClaimedDelivery, ...]:
    """Claim a row that another worker cannot have chosen: it did not exist yet."""
    a_mail(lane=lane, due_at=NOW)
    return claimed(lane=lane)


@pytest.mark.parametrize("limits", [{"rate": 0.001, "burst": 2, "tokens": 2}, {"per_hour": 2}])
def test_two_workers_do_not_use_a_lanes_room_twice(limits: dict[str, Any]) -> None:
    lane = a_lane(**limits)
    queued(2, lane=lane)
    first, second = beside(lambda: claimed(lane=lane), lambda: mail_comes_and_is_claimed(lane), blocks=False)
    assert (len(first), second) == (2, ())
    assert claimed(lane=lane) == ()


def test_two_workers_do_not_use_a_domains_room_twice() -> None:
    lane = a_lane()
    limited(lane, "example.org", concurrency=2)
    queued(2, lane=lane)
    first, second = beside(lambda: claimed(lane=lane), lambda: mail_comes_and_is_claimed(lane), blocks=False)
    assert (len(first), second) == (2, ())
    assert claimed(lane=lane) == ()


def test_a_serial_lane_has_one_head_however_many_workers_ask() -> None:
    lane = a_lane(serial=True, concurrency=1)
    queued(lane=lane)
    first, second = beside(lambda: claimed(lane=lane), lambda: mail_comes_and_is_claimed(lane), blocks=False)
    assert (len(first), second) == (1, ())
    assert states() == {"sending": 1, "queued": 1}


def test_two_lanes_do_not_use_the_room_of_their_account_twice() -> None:
    account = a_lane(kind="discord_bot", account="bot", serial=False, per_hour=1)
    one, two = (
        a_lane(kind="discord_bot", account=f"bot/{number}", serial=True, parent=account) for number in (1, 2)
    )
    queued(lane=one)
    queued(lane=two)
    first, second = beside(lambda: claimed(lane=one), lambda: claimed(lane=two))
    assert (len(first), second) == (1, ())
    assert LaneUse.objects.get(lane=account).count == 1


def test_connecting_another_channel_of_an_account_does_not_stop_the_others() -> None:
    account = a_lane(kind="discord_bot", account="bot", serial=False)
    lane = a_lane(kind="discord_bot", account="bot/1", serial=True, parent=account)
    queued(lane=lane)

    def connect() -> None:
        a_lane(kind="discord_bot", account="bot/2", serial=True, parent=account)
        with connection.cursor() as cursor:
            # The insert locks the account's row when its foreign key is checked.
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")

    _, rows = beside(connect, lambda: claimed(lane=lane), blocks=False)
    assert len(rows) == 1


STOPPED_BY = {
    "nothing": lambda lane: None,
    "a domain's pause": lambda lane: limited(lane, "example.org", paused=True),
    "a domain's rate": lambda lane: limited(lane, "example.org", rate=0.001, tokens=0),
    "a recipient's cap": lambda lane: Lane.objects.update(per_recipient=0),
    "a restore": lambda lane: Restore.objects.create(begun_at=NOW + HOUR),
}


@pytest.mark.parametrize("stopped_by", STOPPED_BY)
def test_a_letter_that_is_cancelled_beside_a_claim_stays_cancelled(stopped_by: str) -> None:
    lane = a_lane()
    queued(lane=lane)
    STOPPED_BY[stopped_by](lane)

    def cancel() -> None:
        Delivery.objects.update(state="cancelled", last_error="By hand.")

    _, rows = beside(cancel, lambda: claimed(lane=lane))
    row = Delivery.objects.get()
    assert rows == ()
    assert (row.state, row.held_for, row.last_error, row.due_at) == ("cancelled", "", "By hand.", NOW)
    assert (row.lease_token, row.begun_at) == (None, None)
