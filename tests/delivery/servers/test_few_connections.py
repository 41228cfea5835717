"""A server that accepts fewer connections than the lane has gets fewer, and all is sent at once."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from delivery.engine.send_pass import send_due
from delivery.lanes.lanes import Stop, back_off
from delivery.lanes.limits import alter_lane
from delivery.lanes.shares import narrow_lane, take_share
from delivery.models import Delivery, Lane
from tests.console import json_of, printed
from tests.delivery.background import sending
from tests.delivery.lanes.test_limits import ADA, BOB
from tests.delivery.ledger import SECOND, a_lane, queued, states
from tests.examples import NIGHTLY, some_now
from tests.factories import NOW, IssueFactory
from tests.servers.smtp_server import DROP, SmtpServer

LETTERS = 300
FULL = {
    "421": "421 4.7.0 mx.example.test Error: too many connections from 127.0.0.1",
    "450": "450 4.7.1 Too many concurrent sessions",
    "554": "554 5.7.1 No more of you",
    "closed": DROP,
}


def all_went_once(smtp: SmtpServer, letters: int = LETTERS) -> bool:
    rows = set(Delivery.objects.values_list("state", "attempts", "lease_token"))
    return len(smtp.recipients) == len(set(smtp.recipients)) == letters and rows == {("sent", 1, None)}


@NIGHTLY
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_either_sender")
@pytest.mark.parametrize(
    ("takes", "full"), some_now([(1, "421"), (2, "450"), (3, "closed"), (3, "421"), (3, "554")], every=2)
)
def test_a_server_that_takes_few_connections_gets_all_in_one_pass(
    takes: int, full: str, settings: Any
) -> None:
    with SmtpServer(takes=takes, full=FULL[full]) as smtp:
        settings.EMAIL_URL = smtp.url
        queued(LETTERS, issue=IssueFactory(), lane=a_lane())
        report = send_due()
        assert (report.sent, report.deferred, report.failed) == (LETTERS, 0, 0)
        assert all_went_once(smtp)
        assert len(smtp.state.inside) <= takes
        lane = Lane.objects.get()
        assert (lane.failures, lane.free_at, lane.width, lane.concurrency) == (0, None, takes, 10)
        assert (FULL[full] in lane.server_said) or full == "closed"
        refused = smtp.state.refused
        queued(50, issue=IssueFactory(), lane=lane)
        assert send_due().sent == 50
        assert smtp.state.refused <= refused + 1
    assert json_of("list_lanes")[0]["server_takes"] == takes
    assert f"{takes} connection" in printed("list_lanes")


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_either_sender")
@pytest.mark.parametrize(
    ("stage", "reply"),
    [
        ("mail", "421 4.3.2 The maximum number of concurrent connections has exceeded a limit"),
        ("rcpt", "450 4.7.1 Too many sessions from your host"),
        ("message", "432 4.3.2 Concurrent connections limit exceeded"),
    ],
)
def test_one_that_says_so_only_when_a_letter_comes_gets_fewer_too(
    stage: str, reply: str, smtp: SmtpServer
) -> None:
    queued(40, issue=IssueFactory(), lane=a_lane(concurrency=4))
    smtp.state.delay = 0.02
    smtp.answer(stage, reply, times=2)
    assert send_due().sent == 40
    assert all_went_once(smtp, 40)
    lane = Lane.objects.get()
    assert (lane.failures, lane.free_at, lane.server_said) == (0, None, reply)
    assert lane.width == 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_either_sender")
def test_a_server_that_takes_none_at_all_lets_the_lane_rest_and_teaches_nothing(settings: Any) -> None:
    with SmtpServer(takes=0) as smtp:
        settings.EMAIL_URL = smtp.url
        queued(30, issue=IssueFactory(), lane=a_lane())
        assert send_due().sent == 0
    lane = Lane.objects.get()
    assert (lane.failures, lane.width, lane.server_takes) == (1, 10, None)
    assert "too many connections" in lane.last_error
    assert states() == {"queued": 30}


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_either_sender")
def test_a_server_that_stops_in_the_middle_teaches_nothing(settings: Any) -> None:
    with SmtpServer(delay=0.01) as smtp:
        settings.EMAIL_URL = smtp.url
        queued(100, issue=IssueFactory(), lane=a_lane(concurrency=4))
        with sending() as pass_:
            smtp.wait_for(20)
            smtp.stop()
        assert pass_.result().sent < 100
    lane = Lane.objects.get()
    assert (lane.failures, lane.server_takes) == (1, None)


@pytest.mark.django_db
@pytest.mark.parametrize("rests_first", [True, False])
def test_a_server_that_goes_away_step_by_step_teaches_nothing(rests_first: bool) -> None:
    lane, said = a_lane(concurrency=4), "can’t be reached"
    take_share(lane.pk, ADA, NOW)
    stop = Stop(lane_id=lane.pk, text=said, retry_at=None, claimed_at=NOW, at=NOW + SECOND)
    acts = [
        lambda: back_off(stops=[stop], sent=(), now=None),
        lambda: narrow_lane(lane.pk, ADA, connections=2, said=said, now=NOW + SECOND),
    ]
    for act in acts if rests_first else acts[::-1]:
        act()
    lane.refresh_from_db()
    assert (lane.failures, lane.server_takes, lane.width) == (1, None, 4)


@pytest.mark.django_db
def test_what_a_worker_learnt_stays_when_another_finds_no_room() -> None:
    lane, said = a_lane(concurrency=4), "421 Too many"
    take_share(lane.pk, ADA, NOW)
    take_share(lane.pk, BOB, NOW)
    narrow_lane(lane.pk, ADA, connections=2, said=said, now=NOW)
    stop = Stop(lane_id=lane.pk, text=said, retry_at=None, claimed_at=NOW, at=NOW)
    back_off(stops=[stop], sent=(), now=None)
    lane.refresh_from_db()
    assert lane.server_takes is not None


# --- what is remembered


@pytest.mark.django_db
def test_what_was_learnt_holds_for_all_workers_and_is_tried_up_after_a_quiet_while() -> None:
    lane = a_lane(concurrency=10)
    assert take_share(lane.pk, ADA, NOW) == 10
    narrow_lane(lane.pk, ADA, connections=3, said="421 Too many", now=NOW)
    assert take_share(lane.pk, ADA, NOW + SECOND) == 3
    take_share(lane.pk, BOB, NOW + SECOND)
    assert take_share(lane.pk, ADA, NOW + SECOND) + take_share(lane.pk, BOB, NOW + SECOND) == 3
    widths, now = [], NOW
    for _ in range(8):
        now += timedelta(minutes=5)
        take_share(lane.pk, ADA, now)
        take_share(lane.pk, ADA, now + SECOND)
        lane.refresh_from_db()
        widths.append(lane.width)
    assert widths == [4, 5, 6, 7, 8, 10, 10, 10]
    assert lane.server_takes is None


@pytest.mark.django_db
def test_one_that_is_refused_again_is_tried_again_a_while_after_that() -> None:
    lane = a_lane(concurrency=10)
    take_share(lane.pk, ADA, NOW)
    narrow_lane(lane.pk, ADA, connections=3, said="421 Too many", now=NOW)
    later = NOW + timedelta(minutes=5)
    assert take_share(lane.pk, ADA, later) == 4
    narrow_lane(lane.pk, ADA, connections=3, said="421 Too many", now=later)
    assert take_share(lane.pk, ADA, later + timedelta(minutes=4)) == 3
    assert take_share(lane.pk, ADA, later + timedelta(minutes=5)) == 4


@pytest.mark.django_db
def test_what_another_worker_holds_is_no_less_for_our_refusal() -> None:
    lane = a_lane(concurrency=10)
    take_share(lane.pk, ADA, NOW)
    take_share(lane.pk, ADA, NOW, still_open=0)
    take_share(lane.pk, BOB, NOW)
    take_share(lane.pk, ADA, NOW)
    take_share(lane.pk, BOB, NOW)
    narrow_lane(lane.pk, ADA, connections=2, said="421 Too many", now=NOW)
    lane.refresh_from_db()
    assert lane.width == 7


@pytest.mark.django_db
def test_a_number_set_by_hand_takes_the_place_of_what_was_learnt(admin_client: Client) -> None:
    lane = a_lane(concurrency=10)
    take_share(lane.pk, ADA, NOW)
    narrow_lane(lane.pk, ADA, connections=3, said="421 4.7.0 Too many", now=NOW)
    page = admin_client.get(reverse("admin:delivery_lane_change", args=[lane.pk])).content.decode()
    assert "3 of 10. The server refused one more on" in page
    assert "421 4.7.0 Too many" in page
    alter_lane(lane=lane, concurrency=5)
    assert (lane.width, lane.server_said) == (5, "")


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_either_sender")
def test_a_new_lane_opens_more_connections_while_its_server_answers_well(smtp: SmtpServer) -> None:
    smtp.state.delay = 0.03
    queued(LETTERS, issue=IssueFactory(), lane=a_lane(concurrency=8, grown=2))
    assert send_due().sent == LETTERS
    lane = Lane.objects.get()
    assert (lane.width, lane.grown) == (8, None)
    assert all_went_once(smtp)


@pytest.mark.django_db
@pytest.mark.parametrize(("slows", "width"), [(True, 10), (False, 20)])
def test_a_lane_opens_half_as_many_once_its_server_asks_it_to_slow_down(
    slows: bool, width: int, admin_client: Client
) -> None:
    lane = a_lane(concurrency=50, grown=20)
    stop = Stop(lane.pk, "450 4.7.1 Slow down", None, NOW, NOW, slows=slows)
    back_off(stops=[stop, stop], sent=[], now=None)
    lane.refresh_from_db()
    assert lane.width == width
    # It does not grow before it is well again, and a person's number stays.
    assert take_share(lane.pk, ADA, NOW, goes_well=True) == width
    shown = admin_client.get(reverse("admin:delivery_lane_change", args=[lane.pk])).content.decode()
    assert f"{width} of 50. The number doubles" in shown
    assert alter_lane(lane=lane, concurrency=10).width == 10
    assert take_share(lane.pk, ADA, NOW, goes_well=True) == 10
