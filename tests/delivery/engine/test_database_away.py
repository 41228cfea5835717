"""Without the database, outcomes stay in memory; reaping starts a minute after it is back.

PostgreSQL is stopped in the middle of a run, and started again.
"""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import IntegrityError, OperationalError

from common.db import outage
from common.db.outage import note_outage, retry_until_stored, was_away_lately
from common.shutdown import stopping
from delivery.engine.claim import reap_expired
from delivery.engine.send_pass import send_due
from tests import services
from tests.databases import fill
from tests.delivery.background import wait_until
from tests.delivery.ledger import MINUTE, Clock, claimed, queued, states
from tests.delivery.sites import queue, states_of
from tests.factories import NOW
from tests.load.chaos_cluster import Cluster, running_cluster
from tests.load.installation import Installation
from tests.servers.smtp_server import SmtpServer

LETTERS, CONNECTIONS = 200, 5
OUTAGE = 3.0


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


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    if not (services.program("initdb") and services.program("pg_ctl")):
        pytest.skip("PostgreSQL's programs are not installed (Debian: postgresql)")
    with running_cluster() as made:
        yield made


@pytest.mark.slow
@pytest.mark.postgres
def test_a_restart_of_the_database_loses_no_letter_and_doubles_none(cluster: Cluster, tmp_path: Path) -> None:
    with SmtpServer() as smtp:
        site = Installation(tmp_path, cluster.url, EMAIL_URL=smtp.url)
        try:
            fill(cluster.url)
            queue(site, LETTERS, concurrency=CONNECTIONS, rate=60, burst=60, tokens=60)
            site.start_worker("send,reap")
            smtp.wait_for(70, timeout=60)
            cluster.control("stop", "-m", "fast")
            at_the_stop = len(smtp.messages)
            time.sleep(OUTAGE)
            assert len(smtp.messages) - at_the_stop <= CONNECTIONS
            cluster.control("start")
            wait_until(lambda: len(set(smtp.recipients)) == LETTERS, seconds=120)
            wait_until(lambda: states_of(site) == {"sent": LETTERS}, seconds=60)
        finally:
            site.stop_all()
    assert set(Counter(smtp.recipients).values()) == {1}, site.log()
