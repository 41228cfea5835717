import subprocess
import sys
from pathlib import Path

import pytest

from tests.databases import ROOT

pytestmark = pytest.mark.slow

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
