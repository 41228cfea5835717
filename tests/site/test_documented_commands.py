"""The table of commands has every one there is, and no page names one that there is not."""

import re
from pathlib import Path

import pytest
from django.core.management import get_commands

ROOT = Path(__file__).parent.parent.parent
COMMANDS = sorted(
    path.stem for path in ROOT.glob("*/management/commands/*.py") if not path.stem.startswith("_")
)
PAGES = {path.name: path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("docs/*.md"))}
TABLE = PAGES["customising.md"].partition("## Commands")[2].partition("\n## ")[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_documented(name: str) -> None:
    assert re.search(rf"`{name}[` ]", TABLE), "in docs/customising.md, under Commands"


@pytest.mark.parametrize("page", [*PAGES, "README.md"])
def test_no_page_names_a_command_that_there_is_not(page: str) -> None:
    text = PAGES.get(page) or (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"manage\.py ([a-z][a-z_]+)", text))
    assert named <= get_commands().keys()
