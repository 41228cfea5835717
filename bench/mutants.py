"""`python -m bench.mutants [--seed N] [--count N] [--root FOLDER]`: how many planted faults the tests catch.

A fault is one small change in a rule, the engine, a claim or a page, chosen by the seed. The tests of its
room run first, then those that name what its module defines; the first failure catches it. FOLDER is a
checkout that may be changed: one fault at a time stands in it, and goes again.
"""

import argparse
import ast
import copy
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOMS = {
    "rules": ("feeds/rules", "subscriptions/rules", "delivery/rules"),
    "engine": ("delivery/engine", "delivery/lanes"),
    "claims": ("delivery/issues", "feeds/polling", "subscriptions/collections"),
    "pages": ("delivery/views", "subscriptions/views", "feeds/views"),
}
LIMIT_SECONDS = 420
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
}


@dataclass(frozen=True)
class Fault:
    """`text` in place of what stands at `start` to `end` (line from 1, column in UTF-8 octets)."""

    path: str
    start: tuple[int, int]
    end: tuple[int, int]
    text: str

    def planted(self, source: bytes) -> bytes:
        lines = source.splitlines(keepends=True)
        before = b"".join(lines[: self.start[0] - 1]) + lines[self.start[0] - 1][: self.start[1]]
        after = lines[self.end[0] - 1][self.end[1] :] + b"".join(lines[self.end[0] :])
        return before + self.text.encode() + after


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=12)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--root", type=Path, default=Path())
    given = parser.parse_args()
    caught = 0
    chosen = choose(given.root, random.Random(given.seed), given.count)
    for number, fault in enumerate(chosen, 1):
        found = catches(given.root, fault)
        caught += found is not None
        print(f"{number:2} {fault.path}:{fault.start[0]} {fault.text!r}: {found or 'NOT CAUGHT'}", flush=True)
    print(f"{caught} of {len(chosen)} caught")


def choose(root: Path, chance: random.Random, count: int) -> list[Fault]:
    """As many of each kind of room."""
    chosen: list[Fault] = []
    for rooms in ROOMS.values():
        found = [
            fault
            for room in rooms
            for path in sorted((root / room).rglob("*.py"))
            for fault in faults(root, path)
        ]
        chosen += chance.sample(found, count // len(ROOMS))
    return chosen


def faults(root: Path, path: Path) -> Iterator[Fault]:
    """All that can be planted in a module's functions."""
    name = str(path.relative_to(root))
    tree = ast.parse(path.read_bytes())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for function in functions:
        for statement in function.body:
            for node in ast.walk(statement):
                if (
                    (text := spoilt(node))
                    and isinstance(node, ast.expr)
                    and node.end_lineno
                    and node.end_col_offset
                ):
                    yield Fault(
                        name, (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset), text
                    )


def spoilt(node: ast.AST) -> str:
    """The expression with one thing wrong; empty where none is offered."""
    wrong = copy.deepcopy(node)
    match wrong:
        case ast.Compare(ops=[op]) if type(op) in SWAPPED:
            wrong.ops = [SWAPPED[type(op)]()]  # type: ignore[list-item]
        case ast.BoolOp(op=op) | ast.BinOp(op=op) if type(op) in SWAPPED:
            wrong.op = SWAPPED[type(op)]()  # type: ignore[assignment]
        case ast.UnaryOp(op=ast.Not()):
            return f"({ast.unparse(wrong.operand)})"
        case ast.Constant(value=bool()):
            return str(not wrong.value)
        case ast.Constant(value=int() as number):
            return str(number + 1)
        case _:
            return ""
    return f"({ast.unparse(wrong)})"


def catches(root: Path, fault: Fault) -> str | None:
    """The test that failed, or None."""
    path = root / fault.path
    whole = path.read_bytes()
    path.write_bytes(fault.planted(whole))
    try:
        for tests in (mirrored(root, fault.path), naming(root, whole.decode(), fault.path)):
            if tests and (found := first_failure(root, tests)):
                return found
    finally:
        path.write_bytes(whole)
    return None


def mirrored(root: Path, path: str) -> list[str]:
    folder = root / "tests" / Path(path).parent
    return [str(folder.relative_to(root))] if folder.exists() else []


def naming(root: Path, source: str, path: str) -> list[str]:
    """Test files elsewhere that name the module, or one of its functions or classes."""
    names = [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    names = [name for name in names if len(name) > 6 and not name.startswith("_")]
    wanted = re.compile(
        r"\b("
        + "|".join([re.escape(Path(path).with_suffix("").as_posix().replace("/", ".")), *names])
        + r")\b"
    )
    here = mirrored(root, path)
    return [
        str(file.relative_to(root))
        for file in sorted((root / "tests").rglob("test_*.py"))
        if not any(str(file.relative_to(root)).startswith(room) for room in here)
        and wanted.search(file.read_text("utf-8"))
    ]


def first_failure(root: Path, tests: list[str]) -> str | None:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "2", "--dist", "worksteal", *tests]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command,
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "it did not end"
    if done.returncode == 0:
        return None
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return failed[0] if failed else f"pytest ended with {done.returncode}"


if __name__ == "__main__":
    main()
