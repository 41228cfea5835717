"""The pictures of issues without one."""

import io
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from PIL import Image

from common.pictures.card import CARD_HEIGHT, CARD_WIDTH, MARGIN, card
from delivery.views.issue_picture import FONT

INK = (255, 255, 255)
FONTS = {"bold": str(finders.find(FONT.format("Bold"))), "medium": str(finders.find(FONT.format("Medium")))}


def drawn(title: str, name: str = "Notes") -> Image.Image:
    octets = card(title=title, name=name, host="x.example", ground="#1f5f8b", ink="#ffffff", **FONTS)
    assert len(octets) < 60_000
    return Image.open(io.BytesIO(octets)).convert("RGB")


def box_of_ink(picture: Image.Image) -> tuple[int, int, int, int]:
    box = picture.convert("L").point(lambda value: 255 if value > 200 else 0).getbbox()
    assert box is not None
    return box


@pytest.mark.parametrize(
    "title", ["a", "Über Reiher", "Выпуск", "word " * 200, "x" * 10_000, "e\u0301" * 100, "WWWW " * 100, "\0"]
)
def test_words_stay_within_the_margins(title: str) -> None:
    left, top, right, bottom = box_of_ink(drawn(title))
    assert left >= MARGIN - 4
    assert right <= CARD_WIDTH - MARGIN + 4
    assert (top > MARGIN, bottom < CARD_HEIGHT - MARGIN + 14) == (True, True)


@pytest.mark.parametrize("title", ["日本語のタイトル", "שלום", "عنوان", "Mixed 漢字", "🎉", ""])
def test_where_letters_are_missing_there_is_the_initial(title: str) -> None:
    assert drawn(title) == drawn("日本")
    assert drawn(title) != drawn("Mixed")


def test_signs_that_are_missing_are_left_out() -> None:
    assert drawn("🎉 Version 2") == drawn("Version 2")


@pytest.mark.parametrize("name", ["漢字", "", "🎉"])
def test_without_any_letter_there_is_the_colour(name: str) -> None:
    assert drawn("漢字", name).getpixel((MARGIN + 60, 400)) == (0x1F, 0x5F, 0x8B)


def test_a_missing_font_is_no_picture(tmp_path: Any) -> None:
    with pytest.raises(OSError, match="resource"):
        card(title="a", name="b", host="c", ground="#000000", ink="#ffffff", bold="None", medium="None")
