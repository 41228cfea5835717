"""`python -m bench.mutants [--seed N] [--count N] [--root FOLDER] [--before FOLDER]`: planted faults.

A fault is a small change in a rule, the engine, a claim or a page. Tests of its folder, and tests that name
its module or definitions, run on DATABASE_URL's database. Both folders are checkouts, changed by one fault at
a time.

`--before`: an older version. Faults must be possible in both; it is tested with faults that the newer one
misses. `--only 3,17` plants two of them.
"""

import argparse
import ast
import os
import random
import re
import subprocess
import sys
from pathlib import Path

from bench.faults import Fault, Others, all_faults

APPS = ("feeds", "subscriptions", "channels", "delivery")
ROOMS = {
    "rules": ("feeds/rules", "subscriptions/rules", "delivery/rules"),
    "engine": ("delivery/engine", "delivery/lanes"),
    "claims": ("delivery/issues", "feeds/polling", "subscriptions/collections"),
    "pages": ("delivery/views", "subscriptions/views", "feeds/views"),
}
# The longest test takes a tenth. Endless ones are ended.
TEST_SECONDS = 240
MOST_ACCIDENTS = 5
SLOW = ("-m", "not slow(nightly=True)")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=12)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--root", type=Path, default=Path())
    parser.add_argument("--before", type=Path)
    parser.add_argument("--only", type=lambda text: {int(number) for number in text.split(",")})
    parser.add_argument("--list", action="store_true", help="only say which")
    given = parser.parse_args()
    roots = [given.root] if given.before is None else [given.before, given.root]
    chosen = choose(given.root, given.before, random.Random(given.seed), given.count)
    todo = [number for number in range(1, len(chosen) + 1) if not given.only or number in given.only]
    for number in todo:
        for root, fault in zip(roots, chosen[number - 1], strict=True):
            print(f"{number:2} {root / fault.path}:{fault.start[0]} {fault.text!r}", flush=True)
    if given.list:
        return

    for place in reversed(range(len(roots))):
        caught = []
        for number in todo:
            test = catches(roots[place], chosen[number - 1][place])
            print(f"{number:2} {roots[place]}: {test or 'NOT CAUGHT'}", flush=True)
            if test is not None:
                caught.append(number)
        print(f"{roots[place]}: {len(caught)} of {len(todo)} caught", flush=True)
        todo = [number for number in todo if number not in caught]


def choose(root: Path, before: Path | None, chance: random.Random, count: int) -> list[list[Fault]]:
    """Choose as many of each kind of folder, as (`before`, `root`) pairs."""
    others = Others(before, APPS) if before else None
    chosen: list[list[Fault]] = []
    for rooms in ROOMS.values():
        faults = all_faults(root, rooms)
        chance.shuffle(faults)
        taken: list[list[Fault]] = []
        for fault in faults:
            if others is None:
                taken.append([fault])
            elif other := others.same(fault):
                taken.append([other, fault])
            if len(taken) == count // len(ROOMS):
                break
        chosen += taken
    return chosen


def catches(root: Path, fault: Fault) -> str | None:
    """Return the failed test, or None, after slow tests.

    It must fail again alone and pass without the fault, as tests may fail on a busy machine.
    """
    path = root / fault.path
    whole = path.read_bytes()
    tests, accidents = tests_of(root, whole.decode(), fault.path), list[str]()
    while len(accidents) < MOST_ACCIDENTS:
        path.write_bytes(fault.planted(whole))
        try:
            wanted = [*tests, *(f"--deselect={name}" for name in accidents)]
            failed = first_failure(root, wanted) or first_failure(root, [*SLOW, *wanted])
            again = failed and first_failure(root, [*SLOW, failed])
        finally:
            path.write_bytes(whole)
        if failed is None or (again and first_failure(root, [*SLOW, failed]) is None):
            return failed
        accidents.append(failed)
    return f"nobody knows, these fail by themselves: {accidents}"


def tests_of(root: Path, source: str, path: str) -> list[str]:
    """Return tests in its folder, and others that name the module or its definitions.

    Likely ones come first, browser tests last.
    """
    names = [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    names = [name for name in names if len(name) > 6 and not name.startswith("_")]
    module = re.escape(Path(path).with_suffix("").as_posix().replace("/", "."))
    wanted = re.compile(r"\b(" + "|".join([module, *map(re.escape, names)]) + r")\b")
    room = root / "tests" / Path(path).parent
    files = {
        file: bool(wanted.search(file.read_text("utf-8")))
        for file in sorted((root / "tests").rglob("test_*.py"))
    }
    chosen = [file for file, names_it in files.items() if names_it or room in file.parents]
    chosen.sort(key=lambda file: ("e2e" in file.parts, room not in file.parents, not files[file]))
    return [str(file.relative_to(root)) for file in chosen]


def first_failure(root: Path, tests: list[str]) -> str | None:
    command = [sys.executable, "-m", "pytest", "-x", "-v", "-n", "0", "--tb=no"]
    command += ["-o", f"faulthandler_timeout={TEST_SECONDS}", "-o", "faulthandler_exit_on_timeout=true"]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*command, *tests], cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return None
    if failed := re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE):
        return failed[1]
    # The dump of threads may be cut: some Python versions crash.
    if "Timeout (" in done.stderr and (
        endless := re.search(r"^(tests/\S+::.+?) *\Z", done.stdout, re.MULTILINE)
    ):
        return endless[1]
    raise RuntimeError(f"pytest ended with {done.returncode}: {done.stdout[-500:]} {done.stderr[-2000:]}")


if __name__ == "__main__":
    main()
