"""Commands, REST API and admin on the demo's database equal the files in `golden/`.

Users and scripts rely on these names. After an intended change, write the files anew with `python -m
tests.contracts.golden.record tests/contracts/golden`, and read their diff.
"""

import sys
from difflib import unified_diff
from pathlib import Path

import pytest

from tests.contracts.golden.record import in_the_demo

GOLDEN = Path(__file__).parent / "golden"
pytestmark = [pytest.mark.slow]


def test_the_answers_are_those_that_users_and_scripts_rely_on(tmp_path: Path) -> None:
    assert in_the_demo(tmp_path) == 0
    recorded = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    known = {
        path.name: path.read_text(encoding="utf-8") for path in GOLDEN.glob("*.*") if path.suffix != ".py"
    }
    assert sorted(recorded) == sorted(known)
    different = [name for name in known if known[name] != recorded[name]]
    for name in different:
        pair = known[name].splitlines(), recorded[name].splitlines()
        sys.stdout.writelines(f"{line}\n" for line in unified_diff(*pair, name, name, lineterm=""))
    assert different == []
