"""Rate, burst and spacing hold across passes and workers."""

import time
from datetime import timedelta

import pytest
from django.db import connection

from delivery.engine.claim import claim_due
from delivery.engine.send_pass import send_due
from delivery.models import Lane
from tests.delivery.ledger import MINUTE, SECOND, Clock, a_lane, claimed, queued, states
from tests.factories import NOW
from tests.races import beside
from tests.servers.smtp_server import SmtpServer


@pytest.mark.django_db
def test_a_burst_may_go_and_then_what_the_rate_allows() -> None:
    lane = a_lane(rate=0.5, burst=4)
    queued(20, lane=lane)
    assert len(claimed(now=NOW)) == 0
    taken = [len(claimed(now=NOW + count * SECOND)) for count in (60, 60, 61, 62, 64, 100)]
    assert taken == [4, 0, 0, 1, 1, 4]


@pytest.mark.django_db
def test_an_empty_bucket_names_the_moment_of_the_next() -> None:
    lane = a_lane(rate=0.1, burst=1, tokens=1)
    queued(2, lane=lane)
    assert len(claimed()) == 1
    assert claim_due(lane_id=lane.pk, now=NOW, in_flight=0).again_at == NOW + 10 * SECOND


@pytest.mark.django_db(transaction=True)
def test_two_passes_together_send_no_more_than_one(smtp: SmtpServer) -> None:
    lane = a_lane(rate=0.001, burst=3, tokens=3)
    queued(8, lane=lane)
    assert send_due(clock=Clock()).sent == 3
    assert send_due(clock=Clock()).sent == 0
    assert send_due(clock=Clock(NOW + timedelta(seconds=1000))).sent == 1
    assert len(smtp.recipients) == 4


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_two_workers_at_once_take_each_token_once() -> None:
    lane = a_lane(rate=0.001, burst=3, tokens=3)
    queued(8, lane=lane)

    def one() -> int:
        return len(claim_due(lane_id=lane.pk, now=NOW, in_flight=0).rows)

    first, second = beside(one, one, blocks=False)
    assert (first, second) == (3, 0)
    assert one() == 0
    assert states() == {"sending": 3, "queued": 5}


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_publishing_keeps_nobody_from_sending() -> None:
    lane = a_lane()
    queued(2, lane=lane)

    def publish() -> None:
        queued(1, lane=lane)
        with connection.cursor() as cursor:
            # Foreign keys are checked, which locks the lane's row, after all rows are inserted.
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")

    _, sending = beside(publish, lambda: claimed(lane=lane), blocks=False)
    assert len(sending) == 2


@pytest.mark.django_db(transaction=True)
def test_a_spaced_lane_sends_one_a_minute(smtp: SmtpServer) -> None:
    queued(3, lane=a_lane(serial=True, concurrency=1, spacing_seconds=60))
    for minute in range(3):
        assert send_due(clock=Clock(NOW + minute * MINUTE)).sent == 1
        assert send_due(clock=Clock(NOW + minute * MINUTE + 30 * SECOND)).sent == 0
    assert len(smtp.recipients) == 3


@pytest.mark.django_db(transaction=True)
def test_a_pass_waits_for_a_lane_that_is_free_in_a_moment(smtp: SmtpServer) -> None:
    lane = a_lane(rate=8.0, burst=1, tokens=1)
    queued(4, lane=lane)
    began = time.monotonic()
    assert send_due().sent == 4
    # The first is claimed at once. How far apart they arrive depends on the machine as well.
    assert time.monotonic() - began >= 3 / 8
    assert Lane.objects.get().tokens < 1


@pytest.mark.django_db(transaction=True)
def test_a_clock_that_stands_still_is_not_waited_for(smtp: SmtpServer) -> None:
    queued(3, lane=a_lane(rate=1.0, burst=1, tokens=1))
    assert send_due(clock=Clock()).sent == 1
