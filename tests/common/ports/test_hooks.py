"""Hooks of the operator: allowed modules, and reports of failures.

Things that are registered on start, but loaded when they are first called.
"""

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from common.ports.hooks import NONE, HookFailed, HookRefused, is_loadable, load
from common.ports.registries import later
from tests.e2e.processes import ROOT

CALL = re.compile(r'later\("([\w.]+)", "(\w+)"\)')
NAMED = [found for path in sorted(ROOT.glob("*/apps.py")) for found in CALL.findall(path.read_text("utf-8"))]
Write = Callable[[str, str], None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Write:
    """Return a function that writes modules; those under `own` may be loaded."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    settings.HOOK_MODULES = ["own"]

    def written(name: str, text: str) -> None:
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    return written


def test_no_path_has_no_hooks() -> None:
    assert load("") is NONE
    assert "filter" not in NONE


def test_a_module_that_is_allowed_is_loaded_with_what_it_has(write: Write) -> None:
    write("own", "def filter(*, context, post): return post > context\ndef helper(): pass")
    hooks = load("own")
    assert list(hooks.functions) == ["filter"]
    assert hooks.call("filter", context=1, post=2) is True


def test_an_object_of_a_module_is_loaded_too(write: Write) -> None:
    write("own", "class Weekly:\n  def subject(self, *, context, posts): return 'x'\nweekly = Weekly()")
    assert load("own.weekly").call("subject", context=None, posts=()) == "x"


@pytest.mark.parametrize("path", ["os", "os.path", "ownership", "own_other", "subprocess.run"])
def test_what_is_not_named_is_never_imported(write: Write, path: str) -> None:
    write("ownership", "raise SystemExit")
    with pytest.raises(HookRefused, match="HOOK_MODULES allows only own"):
        load(path)


def test_without_names_nothing_may_be_loaded(write: Write, settings: Any) -> None:
    settings.HOOK_MODULES = []
    with pytest.raises(HookRefused, match="no module may"):
        load("own")


def test_a_module_that_an_allowed_one_imports_is_not_allowed_by_that(write: Write) -> None:
    write("own", "import os")
    with pytest.raises(HookRefused, match="HOOK_MODULES allows only"):
        load("own.os.path")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "has none of the hooks filter, "),
        ("filter = 1", "is no function"),
        ("def filter(post): pass", r"cannot be called as filter\(\*, context, post\)"),
        ("def filter(*, context, post, more): pass", "cannot be called as"),
        ("import nothing_of_the_kind", "cannot be imported: No module named 'nothing_of_the_kind'"),
        ("1 / 0", "ZeroDivisionError"),
        ("def (", "SyntaxError"),
    ],
)
def test_what_is_of_no_use_is_refused_with_a_sentence(write: Write, text: str, said: str) -> None:
    write("own", text)
    with pytest.raises(HookRefused, match=said):
        load("own")


def test_a_part_that_is_not_there_is_named(write: Write) -> None:
    write("own", "def filter(*, context, post): return True")
    with pytest.raises(HookRefused, match=r"own has no weekly\."):
        load("own.weekly")
    with pytest.raises(HookRefused, match="own has no weekly"):
        load("own.weekly.more")


def test_a_failure_names_the_hook_and_the_error(write: Write) -> None:
    write("own", "def filter(*, context, post): return post['x']")
    with pytest.raises(HookFailed, match=r"^The hook own\.filter failed: KeyError: 'x'\.$"):
        load("own").call("filter", context=None, post={})


def test_a_prefix_ends_at_a_dot() -> None:
    assert is_loadable("own.weekly", ["own"])
    assert is_loadable("own", ["other", "own"])
    assert not is_loadable("owner", ["own"])
    assert not is_loadable("own", ["own.weekly"])
    assert not is_loadable("own", [])


@pytest.mark.parametrize(("module", "name"), NAMED)
def test_every_function_that_is_loaded_later_exists(module: str, name: str) -> None:
    assert callable(getattr(import_module(module), name))


def test_it_gets_all_arguments_and_its_answer_is_returned() -> None:
    assert later("common.text", "pluralize")(2, "post") == "2 posts"
    with pytest.raises(ModuleNotFoundError):
        later("common.nothing", "at_all")()
