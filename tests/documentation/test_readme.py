"""README is short, and its first screen says what to type."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
MOST_WORDS = 750
PAGES = [ROOT / "README.md", ROOT / "docs" / "comparison.md"]


def test_the_readme_is_short() -> None:
    assert len(README.split()) <= MOST_WORDS


def test_the_first_screen_is_a_sentence_three_points_the_command_and_a_picture() -> None:
    first = README.partition("\n## ")[0]
    assert len(re.findall(r"^\* ", first, re.MULTILINE)) == 3
    assert first.index("make demo") < first.index("![")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_that_exist(page: Path) -> None:
    linked = re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    assert linked
    assert [link for link in linked if not (page.parent / link).exists()] == []


def test_compose_starts_without_a_mail_server() -> None:
    """Otherwise EMAIL_URL takes precedence over the admin's email set-up."""
    assert "EMAIL_URL: ${EMAIL_URL:-}\n" in (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
