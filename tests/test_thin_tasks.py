"""Tasks are thin: they import celery, common and their own app's services, and have a few lines."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TASKS = sorted(ROOT.glob("*/tasks.py"))
LONGEST = 5


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
