"""`python -m bench.house [FOLDER]`: figures about the structure of the code.

Reads the files only, so one script can compare two versions. `--check` fails if a package has more lines or
files than bench/ceilings.toml allows, if modules import each other in a circle, or if a constant is below
a function; `--lower` lowers the ceilings to today's counts.
"""

import ast
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from bench.prose import PHRASES, texts

APPS = (
    "common",
    "feeds",
    "subscriptions",
    "channels",
    "delivery",
    "reader",
    "fediverse",
    "chat",
    "feedletter_site",
    "migrate_from",
    "demo",
)
# Django has a file for each.
UNCOUNTED_FOLDERS = ("migrations", "commands")
# Names that conventions require in several files.
CONVENTIONAL = {
    "log",
    "T",
    "Meta",
    "Command",
    "Admin",
    "urlpatterns",
    "app_name",
    "register",
    # Of child processes and of converters.
    "serve",
    "read",
    "install",
    "main",
    # Registers a channel (`channels/__init__.py`).
    "CHANNELS",
    # Django's format modules.
    "DATE_FORMAT",
    "MONTH_DAY_FORMAT",
}


CEILINGS = Path(__file__).with_name("ceilings.toml")


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--check"]:
        sys.exit("\n".join(violations(Path())) or 0)
    if arguments[:1] == ["--lower"]:
        CEILINGS.write_text(lowered(Path()), "utf-8")
        return
    for name, figure in figures(Path(arguments[0] if arguments else ".")):
        print(f"{name:<58} {figure}")


def counts(root: Path) -> dict[str, dict[str, int]]:
    """Return lines and files of each package, without migrations, and of tests/."""
    paths = {app: [path for path in modules(root) if path.relative_to(root).parts[0] == app] for app in APPS}
    paths["tests"] = list((root / "tests").rglob("*.py"))
    return {
        name: {"lines": sum(len(path.read_text("utf-8").splitlines()) for path in each), "files": len(each)}
        for name, each in paths.items()
    }


def violations(root: Path) -> list[str]:
    """Return a sentence for each ceiling that is exceeded, and for each circle of imports."""
    ceilings = tomllib.loads(CEILINGS.read_text("utf-8"))
    told = [
        f"{name}/ has {count:,} {what}, {count - ceilings[name][what]:,} more than bench/ceilings.toml "
        "allows: take some away. A higher ceiling is a commit of its own that says what was tried."
        for name, each in counts(root).items()
        for what, count in each.items()
        if count > ceilings[name][what]
    ]
    trees = {path.relative_to(root): ast.parse(path.read_text("utf-8")) for path in modules(root)}
    told += [f"These import each other: {', '.join(sorted(each))}." for each in circles(imports(trees))]
    return told + [
        f"{path}:{line}: put this constant on top."
        for path, tree in trees.items()
        # Settings are read from top to bottom.
        if path.name != "settings.py"
        for line in late_constants(tree)
    ]


def late_constants(tree: ast.Module) -> Iterator[int]:
    """Yield the lines of constants behind functions or classes that they do not use."""
    below = set[str]()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            below.add(node.name)
        elif below and isinstance(node, ast.Assign | ast.AnnAssign):
            names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
            stored = {each.id for each in names if isinstance(each.ctx, ast.Store)}
            is_constant = any(name.isupper() or name == "log" for name in stored)
            if is_constant and below.isdisjoint(each.id for each in names):
                yield node.lineno
            below |= stored


def lowered(root: Path) -> str:
    """Return the ceilings, none of them above today's count."""
    text = CEILINGS.read_text("utf-8")
    ceilings = tomllib.loads(text)
    head = text.partition("[")[0]
    return head + "\n".join(
        f"[{name}]\n"
        + "".join(f"{what} = {min(count, ceilings[name][what])}\n" for what, count in each.items())
        for name, each in counts(root).items()
    )


def figures(root: Path) -> Iterator[tuple[str, object]]:
    trees = {path.relative_to(root): ast.parse(path.read_text("utf-8")) for path in sorted(modules(root))}
    lines = sum(len((root / path).read_text("utf-8").splitlines()) for path in trees)
    functions = [node for tree in trees.values() for node in ast.walk(tree) if is_function(node)]
    yield from sizes(root, trees)
    folders = Counter(path.parent for path in trees if path.parent.name not in UNCOUNTED_FOLDERS)
    for folder, count in folders.most_common(3):
        yield f"files in {folder}", count
    yield "circles of imports", len(circles(imports(trees)))
    yield "modules whose name ends in -ing", sum(path.stem.endswith("ing") for path in trees)
    yield "functions in 1,000 lines", round(1000 * len(functions) / lines, 1)
    private, once, called_once = callers(trees)
    yield "private functions named once", f"{once} of {private} ({100 * once / max(private, 1):.1f} %)"
    yield "  their share of all functions", f"{100 * once / len(functions):.1f} %"
    yield "  that of those with one caller", f"{100 * called_once / len(functions):.1f} %"
    double = doubles(trees)
    yield "names that stand for several things within an app", sum(map(len, double.values()))
    for app, names in double.items():
        yield f"  {app}", " ".join(f"{name}×{count}" for name, count in names[:40])


def sizes(root: Path, trees: dict[Path, ast.Module]) -> Iterator[tuple[str, object]]:
    """Figures of the product, which is all packages without demo/ and migrations."""
    product = {path: tree for path, tree in trees.items() if path.parts[0] != "demo"}
    sources = {path: (root / path).read_text("utf-8") for path in product}
    lengths = {path: len(source.splitlines()) for path, source in sources.items()}
    lines = sum(lengths.values())
    yield "files, and those with code", f"{len(product):,}, {sum(map(bool, lengths.values())):,}"
    yield "lines", f"{lines:,}"
    imported = sum(
        node.end_lineno - node.lineno + 1
        for tree in product.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom) and node.end_lineno
    )
    yield "share of imports", f"{100 * imported / lines:.1f} %"
    packages = Counter[str]()
    for path, length in lengths.items():
        packages[path.parts[0]] += length
    largest, length = packages.most_common(1)[0]
    yield "largest package", f"{largest}, {100 * length / lines:.1f} %"
    faces = (
        path for path in product if {"management", "api", "cli", "resources", "resources.py"} & {*path.parts}
    )
    yield "lines of commands, API, resources and their bases", f"{sum(lengths[path] for path in faces):,}"
    migrations = [path for app in APPS for path in (root / app).glob("migrations/*.py")]
    yield "lines of migrations", f"{sum(len(path.read_text('utf-8').splitlines()) for path in migrations):,}"
    prose = [text.words for source in sources.values() for text in texts(source)]
    yield "words in docstrings and comments", f"{sum(len(words.split()) for words in prose):,}"
    yield "phrases that style forbids", sum(len(PHRASES.findall(words)) for words in prose)


def modules(root: Path) -> Iterator[Path]:
    for app in APPS:
        yield from (path for path in (root / app).rglob("*.py") if "migrations" not in path.parts)


def is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def imports(trees: dict[Path, ast.Module]) -> dict[str, set[str]]:
    """Return our modules that each module imports, also within functions, but not for type checkers alone."""
    names = {dotted(path): path for path in trees}
    imported: dict[str, set[str]] = {}
    for name, path in names.items():
        seen = set()
        for node in executed(trees[path]):
            if isinstance(node, ast.ImportFrom) and node.module:
                given = {f"{node.module}.{alias.name}" for alias in node.names}
                seen |= given if given <= set(names) else given | {node.module}
            elif isinstance(node, ast.Import):
                seen |= {alias.name for alias in node.names}
        imported[name] = (seen & set(names)) - {name}
    return imported


def executed(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes but those under `if TYPE_CHECKING:`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and name_of(node.test) == "TYPE_CHECKING":
            continue
        yield node
        yield from executed(node)


def dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def circles(imported: dict[str, set[str]]) -> list[set[str]]:
    """Return strongly connected groups (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[set[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in imported[name]:
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            group = set(stack[stack.index(name) :])
            del stack[stack.index(name) :]
            if len(group) > 1:
                groups.append(group)

    sys.setrecursionlimit(10_000)
    for name in imported:
        if name not in index:
            visit(name)
    return groups


def callers(trees: dict[Path, ast.Module]) -> tuple[int, int, int]:
    """Count private functions, those named once, and of these those called there."""
    private = once = called_once = 0
    for tree in trees.values():
        nodes = list(ast.walk(tree))
        named = Counter(name for node in nodes if (name := name_of(node)))
        called = {
            name_of(node.func) for node in nodes if isinstance(node, ast.Call) and not is_super(node.func)
        }
        for node in nodes:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if node.name.startswith("_") and not node.name.startswith("__"):
                private += 1
                once += named[node.name] == 1
                called_once += named[node.name] == 1 and node.name in called
    return private, once, called_once


def name_of(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def is_super(node: ast.AST) -> bool:
    of = node.value if isinstance(node, ast.Attribute) else None
    return isinstance(of, ast.Call) and name_of(of.func) == "super"


def doubles(trees: dict[Path, ast.Module]) -> dict[str, list[tuple[str, int]]]:
    """Return public names that several modules of an app define.

    Channels are independent, so their names count only with the rest of the app.
    """
    names = {
        path: {name for name in defined(tree) if not name.startswith("_")}
        for path, tree in trees.items()
        if path.parent.name != "commands"
    }
    folders = {
        path.parent
        for path, defined_names in names.items()
        if path.stem == "__init__" and "CHANNELS" in defined_names
    }
    channels = folders - {Path("channels")}
    # App → name → channel, or None for the rest.
    seen: dict[str, dict[str, Counter[Path | None]]] = defaultdict(lambda: defaultdict(Counter))
    for path, defined_names in names.items():
        channel = next((each for each in path.parents if each in channels), None)
        for name in defined_names - CONVENTIONAL:
            seen[path.parts[0]][name][channel] += 1
    together = {
        app: {name: counts.pop(None, 0) + max(counts.values(), default=0) for name, counts in each.items()}
        for app, each in seen.items()
    }
    return {
        app: [(name, count) for name, count in Counter(counts).most_common() if count > 1]
        for app, counts in together.items()
    }


def defined(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


if __name__ == "__main__":
    main(sys.argv[1:])
