"""The supervisor with real child processes.

A worker stops on request even if its database is unreachable.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from common.postgresql.patience import Away
from feedletter_site import celery, supervisor
from feedletter_site.supervisor import HEALTHY_SECONDS, LONGEST_PAUSE, Child, ProcessPlan
from tests.servers.feed_server import wait_until
from tests.services import free_port

NAP = (
    "import signal, time; signal.signal(signal.SIGTERM, lambda *_: exit(0)); open('{0}', 'a').write('up '); "
)
NAP += "time.sleep(60)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); open('{0}', 'a').write('up '); "
DEAF += "time.sleep(60)"


def python(code: str, mark: Path) -> list[str]:
    return [sys.executable, "-c", code.format(mark)]


@contextmanager
def supervising(
    folder: Path, commands: dict[str, list[str]], grace: float = 5.0, site: str = ""
) -> Iterator[subprocess.Popen[str]]:
    plan = ProcessPlan(commands, str(folder), str(folder / "alive"), grace, site=site)
    process = subprocess.Popen(supervisor.command(plan), stderr=subprocess.PIPE, text=True, cwd=folder)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def pids(process: subprocess.Popen[str]) -> list[int]:
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True, check=False
    )
    return [int(pid) for pid in listed.stdout.split()]


def lives(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    return False


def starts(mark: Path) -> int:
    return mark.read_text().count("up") if mark.exists() else 0


def test_a_dead_child_is_started_again(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    with supervising(tmp_path, {"web": python(NAP, mark)}) as process:
        assert wait_until(lambda: starts(mark) == 1)
        os.kill(pids(process)[0], signal.SIGKILL)
        assert wait_until(lambda: starts(mark) == 2)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=10)
    assert "web was killed (SIGKILL), probably because" in said
    assert "ran out of memory; restarting in 1 s." in said
    assert process.returncode == 0


def test_it_says_that_it_starts_and_when_the_site_answers(tmp_path: Path) -> None:
    port = free_port()
    serving = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port)]
    with supervising(tmp_path, {"web": serving}, site=f"127.0.0.1:{port}") as process:
        assert process.stderr
        lines = iter(process.stderr.readline, "")
        assert "Starting web (about ten seconds) …" in next(lines)
        assert any("Ready. Stop with Ctrl-C." in line for line in lines)


def test_an_ending_is_told_in_words() -> None:
    assert supervisor.ending(1) == "ended with status 1"
    assert supervisor.ending(-signal.SIGSEGV) == "was ended by SIGSEGV"
    assert supervisor.ending(-250) == "was ended by signal 250"


def test_ctrl_c_stops_all_children(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    with supervising(tmp_path, {"web": python(NAP, one), "worker": python(NAP, two)}) as process:
        assert wait_until(lambda: starts(one) == starts(two) == 1)
        children = pids(process)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
        assert not any(map(lives, children))


def test_a_child_that_ignores_term_is_killed_after_the_grace(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    with supervising(tmp_path, {"web": python(DEAF, mark)}, grace=0.5) as process:
        assert wait_until(lambda: starts(mark) == 1)
        child = pids(process)[0]
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        assert not lives(child)


def test_a_second_signal_does_not_wait_for_the_grace(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    with supervising(tmp_path, {"web": python(DEAF, mark)}, grace=60) as process:
        assert wait_until(lambda: starts(mark) == 1)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == 0


def test_nobody_is_left_behind_when_the_supervisor_is_killed(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    with supervising(tmp_path, {"web": python(NAP, mark)}) as process:
        assert wait_until(lambda: starts(mark) == 1)
        child = pids(process)[0]
        process.kill()
        assert wait_until(lambda: not lives(child))


def test_the_liveness_file_is_there_while_all_run(tmp_path: Path) -> None:
    mark, alive = tmp_path / "mark", tmp_path / "alive"
    with supervising(tmp_path, {"web": python(NAP, mark)}) as process:
        assert wait_until(alive.exists)
        process.send_signal(signal.SIGTERM)
        process.wait(10)
        assert not alive.exists()


def test_pauses_double_up_to_half_a_minute_and_begin_anew_after_a_healthy_minute() -> None:
    child = Child("web", [])
    pauses = [child.died(0.0) for _ in range(8)]
    assert pauses == [1, 2, 4, 8, 16, LONGEST_PAUSE, LONGEST_PAUSE, LONGEST_PAUSE]
    assert child.died(HEALTHY_SECONDS + 1) == 1


class Ended(Exception):
    pass


@pytest.fixture
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    def end(status: int) -> None:
        raise Ended(status)

    monkeypatch.setattr(celery, "GOODBYE_SECONDS", 0)
    monkeypatch.setattr(os, "_exit", end)


@pytest.mark.usefixtures("_quickly")
def test_without_its_database_it_does_not_wait_for_what_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Away, "database_unreachable", True)
    with pytest.raises(Ended):
        celery._watch()


@pytest.mark.usefixtures("_quickly")
def test_with_its_database_it_has_the_time_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Away, "database_unreachable", False)
    looks: list[float] = []

    def sleep(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) > 20:
            raise TimeoutError

    monkeypatch.setattr(time, "sleep", sleep)
    with pytest.raises(TimeoutError):
        celery._watch()
