"""`python -m bench.same_code BEFORE AFTER [RENAMES]`: compare the code of two trees.

Docstrings, comments, formatting and local names may differ. RENAMES has lines: `old new` for a name,
`old/file.py new/file.py` for a file, `path/file.py:old new` for a name in one file (its old path). A final
`*` matches any ending. Prints the first difference of each file; exit code 1.
"""

import ast
import difflib
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

PACKAGES = (
    "bench",
    "channels",
    "chat",
    "common",
    "delivery",
    "demo",
    "feeds",
    "feedletter_site",
    "migrate_from",
    "reader",
    "subscriptions",
    "tests",
)
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
# Fields with names. GLOBAL: never of a local variable.
IDENTIFIERS = {"id", "attr", "arg", "name", "asname", "module", "rest"}
GLOBAL = {"attr", "module", "arg"}


@dataclass
class Renames:
    files: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    of_file: dict[str, dict[str, str]] = field(default_factory=dict)

    @classmethod
    def read(cls, lines: Iterable[str]) -> "Renames":
        table = cls()
        for line in lines:
            old, _, new = line.partition("#")[0].strip().partition(" ")
            path, colon, name = old.rpartition(":")
            if colon:
                table.of_file.setdefault(path, {})[name] = new.strip()
            elif "/" in old:
                table.files[old] = new.strip()
            elif old:
                table.names[old] = new.strip()
        # Imports and dotted texts name modules.
        table.names |= {module(old): module(new) for old, new in table.files.items()}
        return table

    def path(self, path: str) -> str:
        return self.files.get(path, path)

    def name(self, path: str, name: str) -> str:
        """Rename a name, or the longest renamed prefix of a dotted one."""
        own = {**self.names, **self.of_file.get(path, {})}
        if name in own:
            return own[name]
        for old, new in own.items():
            if old.endswith("*") and name.startswith(old[:-1]):
                return new[:-1] + name[len(old) - 1 :]
        before, dot, last = name.rpartition(".")
        return f"{self.name(path, before)}.{own.get(last, last)}" if dot else name


def module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


class Canonical(ast.NodeTransformer):
    """Drop docstrings, apply renames, number local variables of each function."""

    def __init__(self, path: str, renames: Renames) -> None:
        self.path, self.renames = path, renames
        self.scopes: list[dict[str, str]] = []

    def named(self, name: str) -> str:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return self.renames.name(self.path, name)

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            drop_docstring(node)
        if isinstance(node, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef):
            return self.visit_function(node)
        if isinstance(node, Comprehension):
            return self.inside(node, stored(node, node))
        for name, value in ast.iter_fields(node):
            if name in IDENTIFIERS and isinstance(value, str):
                is_global = name in GLOBAL or (name == "name" and isinstance(node, ast.alias))
                setattr(node, name, self.renamed(value) if is_global else self.named(value))
            elif name == "names" and isinstance(node, ast.Global | ast.Nonlocal):
                node.names = [self.named(each) for each in node.names]
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and is_dotted(node.value):
            node.value = self.renamed(node.value)
        return self.generic_visit(node)

    def renamed(self, name: str) -> str:
        return self.renames.name(self.path, name)

    def visit_function(self, node: Function) -> ast.AST:
        if not isinstance(node, ast.Lambda):
            node.name = self.named(node.name)
            node.decorator_list = [self.visit(each) for each in node.decorator_list]  # type: ignore[misc]
        node.args = self.visit(node.args)  # type: ignore[assignment]
        parameters = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
        shared = {
            name
            for each in ast.walk(node)
            if isinstance(each, ast.Global | ast.Nonlocal)
            for name in each.names
        }
        mine = [name for name in stored(node, node) if name not in parameters | shared]
        if not isinstance(node, ast.Lambda) and node.returns is not None:
            node.returns = self.visit(node.returns)  # type: ignore[assignment]
        self.scopes.append({name: self.renamed(name) for name in parameters})
        self.inside(node, mine, skip={"args", "decorator_list", "returns", "name"})
        self.scopes.pop()
        return node

    def inside(self, node: ast.AST, names: Iterable[str], skip: Iterable[str] = ()) -> ast.AST:
        scope: dict[str, str] = {}
        for name in names:
            scope.setdefault(name, f"local {len(self.scopes)}.{len(scope)}")
        self.scopes.append(scope)
        for name, value in ast.iter_fields(node):
            if name in skip:
                continue
            if isinstance(value, ast.AST):
                setattr(node, name, self.visit(value))
            elif isinstance(value, list):
                value[:] = [self.visit(each) if isinstance(each, ast.AST) else each for each in value]
        self.scopes.pop()
        return node


def stored(node: ast.AST, top: ast.AST) -> Iterator[str]:
    """Yield assigned names, in order."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            yield each.id
        elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield each.name
            continue
        elif isinstance(each, ast.Lambda | ast.arguments):
            continue
        elif isinstance(each, Comprehension) and not isinstance(top, Comprehension):
            yield from (one.target.id for one in ast.walk(each) if isinstance(one, ast.NamedExpr))
            continue
        elif isinstance(each, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and each.name:
            yield each.name
        elif isinstance(each, ast.alias):
            yield (each.asname or each.name).partition(".")[0]
        yield from stored(each, top)


def drop_docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    first = node.body[0] if node.body else None
    if (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    ):
        node.body = node.body[1:] or [ast.Pass()]


def is_dotted(text: str) -> bool:
    return all(part.isidentifier() for part in text.split(".")) if len(text) < 200 else False


def canonical(text: str, path: str, renames: Renames) -> list[str]:
    tree = Canonical(path, renames).visit(ast.parse(text))
    assert isinstance(tree, ast.Module)
    imports = (ast.Import, ast.ImportFrom)
    # Renames change the order of imports.
    first = sorted(ast.dump(with_sorted_names(each)) for each in tree.body if isinstance(each, imports))
    return first + [ast.dump(each, indent=1) for each in tree.body if not isinstance(each, imports)]


def with_sorted_names(node: ast.stmt) -> ast.stmt:
    if isinstance(node, ast.Import | ast.ImportFrom):
        node.names.sort(key=lambda alias: alias.name)
    return node


def files(root: Path) -> dict[str, str]:
    every = (path for package in PACKAGES for path in sorted((root / package).rglob("*.py")))
    return {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in every}


def differences(before: Path, after: Path, renames: Renames) -> Iterator[str]:
    old = {renames.path(path): (path, text) for path, text in files(before).items()}
    new = files(after)
    yield from (f"{path}: only before" for path in sorted(old.keys() - new.keys()))
    yield from (f"{path}: only after" for path in sorted(new.keys() - old.keys()))
    for path in sorted(old.keys() & new.keys()):
        former, text = old[path]
        left, right = canonical(text, former, renames), canonical(new[path], path, Renames())
        if left != right:
            lines = difflib.unified_diff("\n".join(left).splitlines(), "\n".join(right).splitlines(), n=2)
            yield f"{path}:\n" + "\n".join(f"    {line}" for line in list(lines)[2:14])


def main(arguments: list[str]) -> int:
    before, after, *tables = map(Path, arguments)
    renames = Renames.read(line for table in tables for line in table.read_text("utf-8").splitlines())
    lines = list(differences(before, after, renames))
    print("\n".join(lines) or "The same code.")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
