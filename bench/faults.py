"""Faults to plant in functions, and the same faults in another version."""

import ast
import copy
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path

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
# Least similarity of one function's versions.
LEAST_ALIKE = 0.6
# Bonus for the same name.
NAME_COUNTS = 0.2


@dataclass(frozen=True)
class Fault:
    """`text` replaces `start` to `end` (line from 1, column in UTF-8 octets)."""

    path: str
    start: tuple[int, int]
    end: tuple[int, int]
    text: str
    function: str
    body: str = field(repr=False)
    # Without names, and its number among equal ones.
    statement: str = field(repr=False)
    order: tuple[int, ...] = field(repr=False)

    def planted(self, source: bytes) -> bytes:
        lines = source.splitlines(keepends=True)
        before = b"".join(lines[: self.start[0] - 1]) + lines[self.start[0] - 1][: self.start[1]]
        after = lines[self.end[0] - 1][self.end[1] :] + b"".join(lines[self.end[0] :])
        return before + self.text.encode() + after


def all_faults(root: Path, folders: tuple[str, ...]) -> list[Fault]:
    paths = [path for folder in folders for path in sorted((root / folder).rglob("*.py"))]
    return [
        fault for path in paths if "migrations" not in path.parts for fault in faults_of_module(root, path)
    ]


def faults_of_module(root: Path, path: Path) -> Iterator[Fault]:
    name, tree = str(path.relative_to(root)), ast.parse(path.read_bytes())
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            body = ast.unparse(function)
            seen: dict[str, int] = defaultdict(int)
            for statement in pieces(function.body):
                shape = nameless(statement)
                seen[shape] += 1
                for place, node in enumerate(whole_expressions(statement)):
                    if (text := spoilt(node)) and node.end_lineno and node.end_col_offset:
                        yield Fault(
                            name,
                            (node.lineno, node.col_offset),
                            (node.end_lineno, node.end_col_offset),
                            text,
                            function.name,
                            body,
                            shape,
                            (seen[shape], place),
                        )


def pieces(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yield statements, and heads of compound ones. Nested functions are visited separately."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if not hasattr(statement, "body") and not isinstance(statement, ast.Match):
            yield statement
            continue
        yield from parts(statement)


def parts(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield from pieces([child])
        elif isinstance(child, ast.expr):
            yield child
        else:
            yield from parts(child)


def whole_expressions(statement: ast.AST) -> Iterator[ast.expr]:
    """Skip f-strings, as Python gives no positions in them."""
    if isinstance(statement, ast.JoinedStr):
        return
    if isinstance(statement, ast.expr):
        yield statement
    for child in ast.iter_child_nodes(statement):
        yield from whole_expressions(child)


def spoilt(node: ast.AST) -> str:
    """Return the expression with one change, or ""."""
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


def nameless(statement: ast.AST) -> str:
    """Dump the statement without names, which versions may change."""
    bare = copy.deepcopy(statement)
    for node in ast.walk(bare):
        match node:
            case ast.Name():
                node.id = "_"
            case ast.Attribute():
                node.attr = "_"
    return ast.dump(bare)


class Others:
    def __init__(self, root: Path, folders: tuple[str, ...]) -> None:
        self.by_statement: dict[tuple[str, tuple[int, ...]], list[Fault]] = defaultdict(list)
        for fault in all_faults(root, folders):
            self.by_statement[fault.statement, fault.order].append(fault)

    def same(self, fault: Fault) -> Fault | None:
        """Return the same fault in the most similar function."""
        faults = self.by_statement.get((fault.statement, fault.order), [])
        app = fault.path.split("/", 1)[0]
        alike = [(likeness(fault, other), other) for other in faults if other.path.startswith(f"{app}/")]
        best = max((score for score, _ in alike), default=0)
        return next((other for score, other in alike if score == best), None) if best >= LEAST_ALIKE else None


def likeness(fault: Fault, other: Fault) -> float:
    ratio = SequenceMatcher(None, fault.body, other.body, autojunk=False).ratio()
    return ratio + NAME_COUNTS * (fault.function == other.function)
