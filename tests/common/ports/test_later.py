"""Things that are registered on start, but loaded when they are first called."""

import re
from importlib import import_module

import pytest

from common.ports.registries import later
from tests.e2e.processes import ROOT

CALL = re.compile(r'later\("([\w.]+)", "(\w+)"\)')
NAMED = [found for path in sorted(ROOT.glob("*/apps.py")) for found in CALL.findall(path.read_text("utf-8"))]


@pytest.mark.parametrize(("module", "name"), NAMED)
def test_every_function_that_is_loaded_later_exists(module: str, name: str) -> None:
    assert callable(getattr(import_module(module), name))


def test_it_gets_all_arguments_and_its_answer_is_returned() -> None:
    assert later("common.text", "pluralize")(2, "post") == "2 posts"
    with pytest.raises(ModuleNotFoundError):
        later("common.nothing", "at_all")()
