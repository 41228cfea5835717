"""The secret key that the embedded default creates."""

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests import forks
from tests.e2e.processes import clean_environment

ROOT = Path(__file__).parent.parent.parent
ROUNDS = 20
# The first access imports what the others need, so that the processes compete for each key.
SHOW = f"""
import os, runpy, sys
data = os.environ['DATA_DIR']
runpy.run_path('feedletter_site/settings.py')
del os.environ['SECRET_KEY']
print('ready', flush=True)
for round in range({ROUNDS}):
    sys.stdin.readline()
    os.environ['DATA_DIR'] = f'{{data}}/{{round}}'
    print(runpy.run_path('feedletter_site/settings.py')['SECRET_KEY'], flush=True)
"""


@pytest.mark.slow
def test_processes_that_start_together_have_one_key_that_nobody_else_can_read(tmp_path: Path) -> None:
    environment = clean_environment({"DATA_DIR": str(tmp_path), "SECRET_KEY": "given" * 10})
    with ExitStack() as stack:
        started = [
            stack.enter_context(
                forks.Process(
                    [sys.executable, "-c", SHOW],
                    cwd=ROOT,
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for _ in range(4)
        ]
        talks = [(process.stdin, process.stdout) for process in started]
        for _, said in talks:
            assert said is not None
            assert said.readline() == "ready\n"
        for number in range(ROUNDS):
            for told, _ in talks:
                assert told is not None
                told.write("go\n")
                told.flush()
            keys = {said.readline().strip() for _, said in talks if said is not None}
            own = tmp_path / str(number)
            assert keys == {(own / "secret_key").read_text("ascii")}
            assert len(keys.pop()) >= 50
            assert {*os.listdir(own)} == {"secret_key", "feedletter.db"}
            assert (own / "secret_key").stat().st_mode & 0o077 == 0
