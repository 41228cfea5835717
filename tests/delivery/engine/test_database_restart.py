"""PostgreSQL is stopped in the middle of a run, and started again."""

import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests import services
from tests.databases import fill
from tests.delivery.background import wait_until
from tests.delivery.sites import queue, states_of
from tests.load.installation import Installation
from tests.servers.smtp_server import SmtpServer

pytestmark = [pytest.mark.slow, pytest.mark.postgres]

LETTERS, CONNECTIONS = 200, 5
OUTAGE = 3.0


class Cluster:
    """PostgreSQL cluster of the test's own that can be stopped and started."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, services.free_port()
        self.options: dict[str, Any] = {}
        if user := services.unprivileged_user():
            shutil.chown(folder, user)
            self.options = {"user": user, "extra_groups": []}
        services.initialise(folder / "data", self.options)
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/postgres"

    @contextmanager
    def running(self) -> Iterator[None]:
        program = services.program("postgres")
        words = [program, "-D", self.folder / "data", "-k", self.folder, "-p", self.port, "-h", "127.0.0.1"]
        with services.running([str(word) for word in words], **self.options):
            services.wait_until(lambda: psycopg.connect(self.url, connect_timeout=2).close(), "PostgreSQL")
            yield


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    if not (services.program("initdb") and services.program("postgres")):
        pytest.skip("PostgreSQL's programs are not installed (Debian: postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="feedletter-pg-"))
    try:
        yield Cluster(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_a_restart_of_the_database_loses_no_letter_and_doubles_none(cluster: Cluster, tmp_path: Path) -> None:
    with SmtpServer() as smtp:
        site = Installation(tmp_path, cluster.url, EMAIL_URL=smtp.url)
        try:
            with cluster.running():
                fill(cluster.url)
                queue(site, LETTERS, concurrency=CONNECTIONS, rate=60, burst=60, tokens=60)
                site.start_worker("send,reap")
                smtp.wait_for(70, timeout=60)
            at_the_stop = len(smtp.messages)
            time.sleep(OUTAGE)
            assert len(smtp.messages) - at_the_stop <= CONNECTIONS
            with cluster.running():
                wait_until(lambda: len(set(smtp.recipients)) == LETTERS, seconds=120)
                wait_until(lambda: states_of(site) == {"sent": LETTERS}, seconds=60)
                site.stop_all()
        finally:
            site.stop_all()
    assert set(Counter(smtp.recipients).values()) == {1}, site.log()
