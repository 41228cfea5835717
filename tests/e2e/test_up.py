"""`manage.py up` as on a small machine: SQLite, one process for pages and work, a supervisor."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.memory import demo, look, shares
from tests.e2e.journey import NEW, SECRET, Blog, arrived, ping, set_up
from tests.e2e.processes import answers, running, until
from tests.examples import NIGHTLY
from tests.servers.smtp_server import SmtpServer
from tests.services import free_port

pytestmark = pytest.mark.slow

LIMIT_SECONDS = 30
# Of the second hour.
GROWTH_MB = 10


@dataclass
class Site:
    """Running service."""

    url: str
    folder: Path
    environment: dict[str, str]
    process: subprocess.Popen[bytes]

    def said(self) -> str:
        return (self.folder / "up.log").read_text()

    def processes(self) -> list[int]:
        """Return the process ids of the supervisor and all its descendants."""
        return list(shares(self.process.pid))

    def worker(self) -> int:
        """Return the process that works and serves pages: gunicorn's child."""
        return self.processes()[2]


@contextmanager
def up(folder: Path, mail: SmtpServer) -> Iterator[Site]:
    port = free_port()
    environment = {
        "SECRET_KEY": SECRET,
        "DATA_DIR": str(folder / "data"),
        "DATABASE_URL": f"sqlite:///{folder}/data/feedletter.db",
        "EMAIL_URL": mail.url,
        "ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8",
        "POLL_HOST_GAP": "0",
    }
    command = [sys.executable, "manage.py", "up", "--bind", f"127.0.0.1:{port}"]
    url = f"http://127.0.0.1:{port}"
    with running("up", command, environment, folder) as process:
        until(lambda: answers(f"{url}/readyz"), "readyz")
        yield Site(url, folder, environment, process)


@pytest.fixture(scope="module")
def mail() -> Iterator[SmtpServer]:
    with SmtpServer() as server:
        yield server


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, mail: SmtpServer) -> Iterator[Site]:
    with up(tmp_path_factory.mktemp("up"), mail) as running_site:
        yield running_site


def test_a_feed_becomes_a_letter_even_when_the_worker_is_killed(site: Site, mail: SmtpServer) -> None:
    with Blog() as blog:
        set_up(blog, site.environment)
        os.kill(site.worker(), signal.SIGKILL)
        blog.publish(NEW)
        ping(site.environment)
        arrived(mail, LIMIT_SECONDS)
    assert "was sent SIGKILL" in site.said()


def test_a_process_whose_parent_was_killed_ends_and_a_new_one_takes_its_place(site: Site) -> None:
    _, parent, child = site.processes()[:3]
    os.kill(parent, signal.SIGKILL)
    until(lambda: not Path(f"/proc/{child}").exists(), "the end of the old one", 2 * LIMIT_SECONDS)
    # The port may be in use for a few tries.
    until(lambda: answers(f"{site.url}/readyz"), "the new one")
    assert "site was killed (SIGKILL)" in site.said()


def test_the_first_start_prints_a_link_to_create_the_admin(site: Site) -> None:
    link = re.search(r"http://\S+/setup/\S+/", site.said())
    assert link
    assert link[0].startswith(site.url)
    with urllib.request.urlopen(link[0], timeout=10) as page:
        assert "Create your account" in page.read().decode()
    assert "Warning" not in site.said()


@NIGHTLY
@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs Linux")
def test_it_needs_less_than_200_megabytes(site: Site) -> None:
    until((site.folder / "data" / "up.alive").exists, "the liveness file")
    assert sum(shares(site.process.pid).values()) < 200


@NIGHTLY
def test_two_hours_of_a_light_load_need_no_more_memory_than_one(tmp_path: Path) -> None:
    """`SOAK_MINUTES` says for how long."""
    minutes = float(os.environ.get("SOAK_MINUTES", "120"))
    with demo(tmp_path) as (pid, session, url):
        sizes = [sum(shares(pid).values()) for _ in look(session, url, minutes)]
    half = len(sizes) // 2
    assert max(sizes[half:]) < max(sizes[:half]) + GROWTH_MB, sizes
    assert max(sizes) < 250, sizes


def test_at_the_end_it_finishes_an_email_and_leaves_nobody_behind(site: Site, mail: SmtpServer) -> None:
    """The newsletter is the one of the first test."""
    everyone, sent = site.processes(), len(mail.messages)
    assert len(everyone) >= 3
    mail.hold()
    with mail.releasing():
        urllib.request.urlopen(f"{site.url}/s/starlight/", b"email=bob@example.org", timeout=10).close()
        until(lambda: mail.commands.count("data") > sent, "an email on its way", LIMIT_SECONDS)
        site.process.terminate()
        time.sleep(5)
    assert site.process.wait(30) == 0
    assert [pid for pid in everyone if Path(f"/proc/{pid}").exists()] == []
    assert len(mail.messages) == sent + 1
    with closing(sqlite3.connect(site.folder / "data" / "feedletter.db")) as database:
        query = "SELECT state FROM delivery_delivery WHERE kind = 'confirmation'"
        assert database.execute(query).fetchall() == [("sent",)]
