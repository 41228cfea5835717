"""docs/reference/ matches the code."""

import re
from pathlib import Path

import pytest

from feedletter_site.env import declared
from tests.documentation.reference import FOLDER, pages

ROOT = Path(__file__).parents[2]
PAGES = (
    "settings.md",
    "commands.md",
    "metrics.md",
    "mail-services.md",
    "api.md",
    "webhooks.md",
    "templates.md",
)


@pytest.mark.needs("reader")
@pytest.mark.parametrize("name", PAGES)
def test_the_reference_is_up_to_date(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == pages()[name], "run `make reference`"


def test_every_setting_says_what_it_is_for() -> None:
    settings = (ROOT / "feedletter_site" / "settings.py").read_text(encoding="utf-8")
    read = set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', settings))
    assert read == {name for section in declared.values() for name in section}


def test_the_log_messages_that_a_page_names_are_the_programs() -> None:
    lines = (ROOT / "docs/operating/scale.md").read_text(encoding="utf-8").splitlines()
    named = [text for line in lines for text in re.findall("`([^`]+)`", line.partition(" Log: ")[2])]
    program = "".join(
        path.read_text(encoding="utf-8")
        for folder in ("common", "feedletter_site")
        for path in (ROOT / folder).rglob("*.py")
    )
    assert named
    assert [text for text in named if text.strip(" …0123456789") not in program] == []
