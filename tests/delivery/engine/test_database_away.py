"""Without the database, outcomes stay in memory; reaping starts a minute after it is back."""

import time

import pytest
from django.db import IntegrityError, OperationalError

from common.db import outage
from common.db.outage import note_outage, retry_until_stored, was_away_lately
from common.shutdown import stopping
from delivery.engine.claim import reap_expired
from delivery.engine.send_pass import send_due
from tests.delivery.ledger import MINUTE, Clock, claimed, queued, states
from tests.factories import NOW
from tests.servers.smtp_server import SmtpServer


@pytest.fixture
def _lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "_lost_at", time.monotonic())


@pytest.mark.django_db
def test_a_write_is_repeated_until_the_database_takes_it() -> None:
    tries = []

    def write() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise OperationalError("the connection is lost")
        return "written"

    assert retry_until_stored(write) == "written"
    assert len(tries) == 3
    assert was_away_lately()


def test_what_is_no_outage_is_not_repeated() -> None:
    def write() -> None:
        raise IntegrityError("no such row")

    with pytest.raises(IntegrityError):
        retry_until_stored(write)
    assert not was_away_lately()


def test_a_loss_is_noticed_and_told_on() -> None:
    with pytest.raises(OperationalError), note_outage():
        raise OperationalError("gone")
    assert was_away_lately()


@pytest.mark.django_db
@pytest.mark.usefixtures("_lost")
def test_after_a_loss_nothing_is_reaped_for_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    queued()
    claimed()
    assert reap_expired(now=NOW + 5 * MINUTE) == 0
    assert states() == {"sending": 1}
    monkeypatch.setattr(outage, "_lost_at", time.monotonic() - 61)
    assert reap_expired(now=NOW + 5 * MINUTE) == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_lost")
def test_after_a_loss_sending_goes_on_without_reaping(smtp: SmtpServer) -> None:
    queued(2)
    claimed()
    queued()
    assert send_due(clock=Clock(NOW + 5 * MINUTE)).sent == 1
    assert states() == {"sending": 2, "sent": 1}


@pytest.mark.django_db
def test_a_process_that_was_told_to_end_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "LONGEST_GOODBYE", 0.0)
    stopping.set()

    def write() -> None:
        raise OperationalError("gone")

    with pytest.raises(OperationalError):
        retry_until_stored(write)
