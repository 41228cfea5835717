"""docs/reference/ matches the code."""

import re
from pathlib import Path

import pytest

from feedletter_site.env import declared
from tests.documentation.reference import FOLDER, pages

ROOT = Path(__file__).parents[2]
PAGES = ("settings.md", "commands.md", "metrics.md", "mail-services.md", "api.md", "webhooks.md")


@pytest.mark.needs("reader")
@pytest.mark.parametrize("name", PAGES)
def test_the_reference_is_up_to_date(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == pages()[name], "run `make reference`"


def test_every_setting_says_what_it_is_for() -> None:
    settings = (ROOT / "feedletter_site" / "settings.py").read_text(encoding="utf-8")
    read = set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', settings))
    assert read == {name for section in declared.values() for name in section}
