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
