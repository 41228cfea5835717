"""Links between pages of the documentation lead to existing pages and headings."""

import re
from pathlib import Path

import pytest

from tests.examples import some_now

ROOT = Path(__file__).parent.parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]


@pytest.mark.parametrize("page", some_now(PAGES), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", without_code(page))
    for name, _, anchor in (target.partition("#") for target in targets if ":" not in target):
        there = page.parent / name if name else page
        assert there.exists(), name
        assert not anchor or anchor in anchors(there), f"{name}#{anchor}"


def anchors(page: Path) -> set[str]:
    """Return the headings of a page, as GitHub spells them in URLs."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def without_code(page: Path) -> str:
    return re.sub(r"^```.*?^```|`[^`\n]+`", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
