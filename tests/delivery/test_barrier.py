"""The barrier: no connection begins its next message before its last outcome is committed."""

import time

import pytest
from django.db import transaction

from delivery.models import Delivery
from tests.delivery.background import sending, wait_until
from tests.delivery.ledger import a_lane, queued, states
from tests.servers.smtp_server import SmtpServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("_either_sender")]

WIDTH, LETTERS = 3, 12
# Far longer than the server takes for a message.
LONG = 1.0


def test_while_an_outcome_cannot_be_committed_its_connection_sends_nothing(smtp: SmtpServer) -> None:
    smtp.state.delay = 0.2
    queued(LETTERS, lane=a_lane(concurrency=WIDTH))
    with sending() as report:
        wait_until(lambda: states() == {"sending": LETTERS})
        with transaction.atomic():
            # Another connection holds the rows (on SQLite: the whole database) while the server goes on.
            list(Delivery.objects.select_for_update())
            smtp.wait_for(WIDTH)
            time.sleep(LONG)
            assert len(smtp.messages) == WIDTH
            assert {message.connection for message in smtp.messages} == {1, 2, 3}
    assert report.result().sent == LETTERS
    assert len(set(smtp.recipients)) == len(smtp.recipients) == LETTERS
    assert states() == {"sent": LETTERS}


@pytest.mark.slow
def test_what_the_server_has_beyond_the_ledger_is_one_message_a_connection(smtp: SmtpServer) -> None:
    """At every moment, so whenever a worker is killed."""
    smtp.state.delay = 0.005
    queued(60, lane=a_lane(concurrency=WIDTH))
    most = 0
    with sending() as report:
        while not report.done():
            recorded = states().get("sent", 0)
            most = max(most, len(smtp.messages) - recorded)
            # The rows are read later than the messages: messages in between may be recorded.
            assert len(smtp.messages) - states().get("sent", 0) <= WIDTH
    assert most >= 1
    assert states() == {"sent": 60}
