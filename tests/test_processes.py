import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import forks
from tests.databases import ROOT

ONE = """
import os, signal, sys, time, warnings
import pytest

tried = []

def test_passes(tmp_path): warnings.warn("about something")
def test_kills_its_process(): os.kill(os.getpid(), signal.SIGKILL)
def test_comes_after_it(): pass
def test_fails(): print("what it printed"); assert 1 == 2
@pytest.mark.skip("for a reason")
def test_is_skipped(): pass
@pytest.mark.flaky(reruns=1)
def test_passes_at_the_second_time():
    tried.append(1)
    assert len(tried) == 2
"""
# A worker that is interrupted ends what its fixtures began.
TWO = """
import pathlib, time
import pytest

@pytest.fixture(scope="session")
def server():
    yield
    pathlib.Path(__file__).with_name("ended").touch()

def test_begins(server): pathlib.Path(__file__).with_name("began").touch()
def test_waits(server): time.sleep(60)
"""
pytestmark = pytest.mark.slow
SHOW = """
import json, os, sys
from feedletter_site import settings
facts = {"arguments": sys.argv, "folder": os.getcwd(), "data": str(settings.DATA_DIR)}
print(json.dumps({**facts, "parent": os.getppid()}))
print("an error", file=sys.stderr)
sys.exit(3)
"""


def environment(folder: Path, **values: str) -> dict[str, str]:
    return {**os.environ, "DATA_DIR": str(folder), "DATABASE_URL": f"sqlite:///{folder}/unused.db", **values}


def run(folder: Path, *command: str, **options: Any) -> Any:
    return forks.run([sys.executable, *command], cwd=ROOT, env=environment(folder), text=True, **options)


def test_a_fork_has_the_arguments_environment_output_and_status_of_a_start(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SHOW, "one", "two"]
    options: dict[str, Any] = {"cwd": ROOT, "env": environment(tmp_path), "text": True}
    options["capture_output"] = True
    forked, started = forks.run(command, **options), subprocess.run(command, check=False, **options)
    facts = [json.loads(done.stdout) for done in (forked, started)]
    assert facts[0].pop("parent") != facts[1].pop("parent") == os.getpid()
    assert facts[0] == facts[1]
    assert facts[0]["data"] == str(tmp_path)
    assert (forked.returncode, forked.stderr) == (started.returncode, started.stderr) == (3, "an error\n")


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_signals_reach_it_and_its_end_is_told(tmp_path: Path, end: signal.Signals) -> None:
    process = forks.Process(
        [sys.executable, "-c", "print('ready', flush=True); import time; time.sleep(60)"],
        cwd=ROOT,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    assert process.poll() is None
    os.killpg(process.pid, end)
    assert process.wait(10) == process.poll() == -end


def test_it_reads_its_input_and_a_time_limit_ends_it(tmp_path: Path) -> None:
    assert run(tmp_path, "-c", "print(input())", input="words\n", capture_output=True).stdout == "words\n"
    with pytest.raises(subprocess.TimeoutExpired):
        run(tmp_path, "-c", "import time; time.sleep(60)", timeout=0.2)


@pytest.mark.parametrize(
    ("command", "changes"),
    [
        (["/bin/true"], {}),
        ([sys.executable, "-I", "-c", "pass"], {}),
        ([sys.executable, "manage.py", "help"], {"cwd": "/"}),
        ([sys.executable, "-c", "pass"], {"PYTHONWARNINGS": "error"}),
    ],
)
def test_another_program_folder_or_python_starts_afresh(command: list[str], changes: dict[str, str]) -> None:
    folder = changes.pop("cwd", str(ROOT))
    assert not forks.can_fork(command, folder, {**os.environ, **changes})
    assert forks.can_fork([sys.executable, "manage.py", "help"], str(ROOT), dict(os.environ))


def run_pytest(folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    """Run the folder's tests with two workers, without our conftest.py."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    plugins = ("-p", "no:django", "-p", "tests.workers", "-p", "no:cacheprovider", "-p", "no:schemathesis")
    command = [sys.executable, "-m", "pytest", "-c", f"{folder}/pytest.ini", "-n", "2", *plugins, *options]
    return subprocess.run(
        [*command, str(folder)], cwd=ROOT, capture_output=True, text=True, timeout=50, check=False
    )


def test_every_test_is_told_as_without_workers_and_a_dead_one_is_replaced(tmp_path: Path) -> None:
    for name in ("test_a.py", "test_b.py"):
        (tmp_path / name).write_text(ONE)
    ran = run_pytest(tmp_path, "-q")
    assert ran.returncode == 1
    assert "4 failed, 6 passed, 2 skipped, " in ran.stdout
    assert "2 rerun" in ran.stdout
    assert ran.stdout.count("UserWarning: about something") == 2
    assert "The worker ended with status -9 in this test." in ran.stdout
    assert ran.stdout.count("what it printed") >= 2


def test_at_the_first_failure_all_workers_end_their_fixtures(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(TWO)
    (tmp_path / "test_b.py").write_text(
        "import pathlib, time\ndef test_fails():\n"
        "    while not pathlib.Path(__file__).with_name('began').exists(): time.sleep(0.02)\n    assert 0\n"
    )
    ran = run_pytest(tmp_path, "-x")
    assert "1 failed, 1 passed" in ran.stdout
    assert (tmp_path / "ended").exists()
