"""`manage.py up` as on a small machine: SQLite, two processes, a supervisor."""

import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.journey import NEW, SECRET, Blog, arrived, ping, set_up
from tests.e2e.processes import answers, running, until
from tests.examples import NIGHTLY
from tests.servers.smtp_server import SmtpServer
from tests.services import free_port

pytestmark = pytest.mark.slow

MEGABYTE = 1024
LIMIT_SECONDS = 30


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
        found = [self.process.pid]
        for pid in found:
            ps = ["ps", "-o", "pid=", "--ppid", str(pid)]
            found += map(int, subprocess.run(ps, stdout=subprocess.PIPE, check=False).stdout.split())
        return found

    def worker(self) -> int:
        return next(
            pid for pid in self.processes() if "\0celery\0" in Path(f"/proc/{pid}/cmdline").read_text()
        )


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
    assert "worker was killed (SIGKILL)" in site.said()


def test_the_first_start_prints_a_link_to_create_the_admin(site: Site) -> None:
    link = re.search(r"http://\S+/setup/\S+/", site.said())
    assert link
    assert link[0].startswith(site.url)
    with urllib.request.urlopen(link[0], timeout=10) as page:
        assert "Create your account" in page.read().decode()
    assert "Warning" not in site.said()


@NIGHTLY
@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs Linux")
def test_it_needs_less_than_280_megabytes(site: Site) -> None:
    until((site.folder / "data" / "up.alive").exists, "the liveness file")
    shares = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in site.processes()]
    total = sum(int(match[1]) for share in shares if (match := re.search(r"^Pss:\s+(\d+) kB", share, re.M)))
    assert total < 280 * MEGABYTE


def test_at_the_end_it_stops_in_time_and_leaves_nobody_behind(site: Site) -> None:
    everyone = site.processes()
    assert len(everyone) >= 4
    site.process.terminate()
    assert site.process.wait(30) == 0
    assert [pid for pid in everyone if Path(f"/proc/{pid}").exists()] == []
