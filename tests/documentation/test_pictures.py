"""Every picture in README and docs/ is small and used; `make pictures` makes all but the drawings."""

import re
from pathlib import Path

import pytest
from PIL import Image

from tests.documentation import bridge_pictures, demo_pictures, tutorial_pictures
from tests.documentation.shots import IMAGES, looks_same, packed
from tests.pictures import drawn

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
MADE = {*demo_pictures.PICTURES, *bridge_pictures.PICTURES, *tutorial_pictures.PICTURES}
SHOWN = {
    (page.parent / place).resolve()
    for page in PAGES
    for place in re.findall(r"!\[[^\]]+\]\(([^):]+)\)", page.read_text(encoding="utf-8"))
}
PHOTOS, DRAWINGS = sorted(IMAGES.glob("*.webp")), sorted(IMAGES.glob("*.svg"))
LARGEST, LARGEST_README, LARGEST_DRAWING = 60_000, 120_000, 8_000


def test_what_is_made_is_what_is_shown_and_what_is_there() -> None:
    there = {path.resolve() for path in IMAGES.iterdir()}
    assert {path.stem for path in PHOTOS} == MADE
    assert there == SHOWN == {path.resolve() for path in (*PHOTOS, *DRAWINGS)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_picture_has_words_for_who_does_not_see_it(page: Path) -> None:
    assert not re.search(r"!\[\s*\]|<img", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", PHOTOS, ids=lambda path: path.stem)
def test_a_picture_is_light(path: Path) -> None:
    with Image.open(path) as picture:
        assert picture.width <= 1600
    assert path.stat().st_size <= (LARGEST_README if path.stem == "feedletter" else LARGEST)


@pytest.mark.parametrize("path", DRAWINGS, ids=lambda path: path.stem)
def test_a_drawing_is_light_has_a_title_and_suits_dark_pages(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text) <= LARGEST_DRAWING
    assert "<title>" in text
    assert "prefers-color-scheme: dark" in text
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text) == []


def test_a_picture_is_replaced_only_when_something_else_is_to_be_seen() -> None:
    was, moved = drawn(300, 200), drawn(300, 200)
    moved.putpixel((7, 7), (255, 255, 255))
    assert looks_same(packed(was, photo=False), packed(moved, photo=False))
    moved.paste((255, 255, 255), (10, 10, 40, 20))
    assert not looks_same(packed(was, photo=False), packed(moved, photo=False))
    assert not looks_same(packed(was, photo=True), packed(drawn(300, 201), photo=True))
