"""Commands, REST API and admin answer on the demo's database as the files in `golden/` say.

These are names that users and scripts rely on. After a change that is meant, write the files anew with
`python -m tests.contracts.golden.record tests/contracts/golden`, and read their diff.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.processes import ROOT, clean_environment

GOLDEN = Path(__file__).parent / "golden"
pytestmark = [pytest.mark.slow, pytest.mark.one_database]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("golden")
    command = [sys.executable, "-m", "tests.contracts.golden.record", str(folder)]
    subprocess.run(command, cwd=ROOT, env=clean_environment({}), timeout=240, check=True)
    return folder


@pytest.mark.parametrize("name", sorted(path.name for path in GOLDEN.glob("*.*") if path.suffix != ".py"))
def test_the_answers_are_those_that_users_and_scripts_rely_on(name: str, recorded: Path) -> None:
    assert (recorded / name).read_text(encoding="utf-8") == (GOLDEN / name).read_text(encoding="utf-8")
