"""Two workers at one lane stay within its connections together, and send each letter once."""

import time
from datetime import timedelta

import pytest
from django.utils import timezone

from delivery.engine import claimer
from delivery.lanes import limits
from delivery.models import Delivery, Lane, LaneShare
from tests.delivery.background import sending, wait_until
from tests.delivery.ledger import a_lane, queued, states
from tests.examples import NIGHTLY
from tests.factories import IssueFactory
from tests.servers.smtp_server import SmtpServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("_either_sender")]

WIDTH, LETTERS = 4, 150


@pytest.fixture
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Renew shares so often that a test need not wait fifteen seconds."""
    monkeypatch.setattr(claimer, "RENEW_SHARE", 0.15)


def all_went_once(smtp: SmtpServer, letters: int = LETTERS) -> None:
    assert len(smtp.recipients) == len(set(smtp.recipients)) == letters
    assert states() == {"sent": letters}
    assert set(Delivery.objects.values_list("attempts", "lease_token")) == {(1, None)}
    assert not LaneShare.objects.exists()


@NIGHTLY
@pytest.mark.usefixtures("_often")
def test_a_second_worker_gets_connections_only_as_the_first_closes_some(smtp: SmtpServer) -> None:
    # More than the first worker claims at once; slow enough for a late start of the second.
    letters = 4 * LETTERS
    smtp.state.delay = 0.5
    queued(letters, issue=IssueFactory(), lane=a_lane(concurrency=WIDTH))
    with sending() as first:
        smtp.wait_for(12)
        assert smtp.most_open == WIDTH
        with sending() as second:
            wait_until(lambda: len(LaneShare.objects.values_list("holder")) == 2)
            smtp.state.delay = 0.05
    assert smtp.most_open == WIDTH
    all_went_once(smtp, letters)
    assert first.result().sent + second.result().sent == letters
    assert second.result().sent >= 10


@pytest.mark.slow
@pytest.mark.usefixtures("_often")
def test_two_workers_that_begin_together_send_each_letter_once(smtp: SmtpServer) -> None:
    smtp.state.delay = 0.02
    queued(LETTERS, issue=IssueFactory(), lane=a_lane(concurrency=WIDTH))
    with sending() as first, sending() as second:
        pass
    assert smtp.most_open <= WIDTH
    all_went_once(smtp)
    assert first.result().sent + second.result().sent == LETTERS


@pytest.mark.slow
@pytest.mark.usefixtures("_often")
def test_a_lane_that_is_made_narrower_closes_connections_within_a_pass(smtp: SmtpServer) -> None:
    smtp.state.delay = 0.08
    queued(LETTERS, issue=IssueFactory(), lane=a_lane(concurrency=WIDTH))
    with sending():
        smtp.wait_for(10)
        Lane.objects.update(concurrency=1)
        time.sleep(0.8)
        before = len(smtp.messages)
        later = smtp.wait_for(before + 20)
        assert len({message.connection for message in later[before:]}) == 1
        Lane.objects.update(concurrency=WIDTH)
        smtp.wait_for(before + 50)
    assert len({message.connection for message in smtp.messages[-20:]}) > 1
    all_went_once(smtp)


@pytest.mark.usefixtures("_often")
def test_a_worker_whose_share_is_gone_ends_what_it_has(smtp: SmtpServer) -> None:
    """Others hold the whole lane, which was narrowed: claimed letters are sent, nothing is stuck."""
    smtp.state.delay = 0.05
    lane = a_lane(concurrency=WIDTH)
    queued(40, issue=IssueFactory(), lane=lane)
    with sending() as report:
        smtp.wait_for(5)
        Lane.objects.update(concurrency=1)
        until = LaneShare.objects.get().until
        LaneShare.objects.create(
            lane=lane, holder="11111111-1111-4111-8111-111111111111", connections=1, until=until
        )
    assert report.result().sent == len(smtp.messages)
    assert set(states()) <= {"sent", "queued"}


@pytest.mark.usefixtures("_often")
def test_a_share_is_kept_while_the_last_letters_are_on_their_way(
    smtp: SmtpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is due any more, but the connections are still open."""
    monkeypatch.setattr(limits, "HELD_FOR", timedelta(seconds=1))
    smtp.state.delay = 2
    queued(WIDTH, issue=IssueFactory(), lane=a_lane(concurrency=WIDTH))
    with sending():
        wait_until(lambda: smtp.connections == WIDTH)
        time.sleep(1.2)
        assert LaneShare.objects.get().until > timezone.now()
    all_went_once(smtp, WIDTH)
