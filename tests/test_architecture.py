"""docs/architecture.md names existing files.

Tasks are thin: they import celery, common and their own app's services, and have a few lines.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAP = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PATHS = sorted(set(re.findall(r"`((?:\w+/)+(?:\w+\.py)?)`", MAP)))
PACKAGES = (
    "common", "migrate_from", "feeds", "subscriptions", "channels", "delivery", "reader", "fediverse",
    "chat", "feedletter_site", "demo",
)  # fmt: skip
TASKS = sorted(ROOT.glob("*/tasks.py"))
LONGEST = 5


def is_a_room(path: str) -> bool:
    """The table of packages names folders without their app."""
    return any((ROOT / place / path).exists() for place in ("", *PACKAGES))


def test_it_names_many_files() -> None:
    assert len([path for path in PATHS if path.endswith(".py")]) >= 50


@pytest.mark.parametrize("path", PATHS)
def test_what_the_map_names_is_there(path: str) -> None:
    assert is_a_room(path)


@pytest.mark.parametrize("app", PACKAGES)
def test_every_room_is_on_the_map(app: str) -> None:
    skipped = {"migrations", "static", "templates", "models", "management", "postgresql"} | {
        "services",
        "__pycache__",
    }
    rooms = {path.name for path in (ROOT / app).iterdir() if path.is_dir()} - skipped
    (line,) = (line for line in MAP.splitlines() if line.startswith(f"| `{app}/` |"))
    assert sorted(rooms - set(re.findall(r"`(\w+)/`", line))) == []


def imported(tree: ast.AST) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add("." * node.level + (node.module or ""))
    return names


def is_allowed(module: str, app: str) -> bool:
    return module.split(".")[0] in {"celery", "common"} or module.startswith(f"{app}.")


def test_there_are_tasks() -> None:
    assert {path.parent.name for path in TASKS} == {
        "feeds",
        "subscriptions",
        "delivery",
        "reader",
        "fediverse",
        "chat",
        "feedletter_site",
    }


@pytest.mark.parametrize("path", TASKS, ids=lambda path: path.parent.name)
def test_tasks_import_celery_common_and_their_own_services_only(path: Path) -> None:
    modules = imported(ast.parse(path.read_text(encoding="utf-8")))
    assert [module for module in modules if not is_allowed(module, path.parent.name)] == []


@pytest.mark.parametrize("path", TASKS, ids=lambda path: path.parent.name)
def test_a_task_is_a_few_lines_and_has_no_arguments(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert functions
    for function in functions:
        assert len(function.body) <= LONGEST, function.name
        assert not function.args.args, function.name


@pytest.mark.parametrize("path", TASKS, ids=lambda path: path.parent.name)
def test_a_task_has_the_name_of_its_stage(path: Path) -> None:
    """`skip_if_running` derives the stage's name from the function, monitoring from the task."""
    for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(function, ast.FunctionDef):
            (task,) = [each for each in function.decorator_list if isinstance(each, ast.Call)]
            (name,) = [word.value for word in task.keywords if word.arg == "name"]
            assert ast.literal_eval(name) == f"{path.parent.name}.{function.name}"
