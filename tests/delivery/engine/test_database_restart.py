"""PostgreSQL is stopped in the middle of a run, and started again."""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import services
from tests.databases import fill
from tests.delivery.background import wait_until
from tests.delivery.sites import queue, states_of
from tests.load.chaos_cluster import Cluster, running_cluster
from tests.load.installation import Installation
from tests.servers.smtp_server import SmtpServer

pytestmark = [pytest.mark.slow, pytest.mark.postgres]

LETTERS, CONNECTIONS = 200, 5
OUTAGE = 3.0


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    if not (services.program("initdb") and services.program("pg_ctl")):
        pytest.skip("PostgreSQL's programs are not installed (Debian: postgresql)")
    with running_cluster() as made:
        yield made


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
