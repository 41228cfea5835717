import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.rendering.colours import DEFAULT_ACCENT, NIGHT, PAPER, contrast, is_dark, palettes


def test_contrast_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@given(st.from_regex(r"#[0-9a-f]{6}", fullmatch=True))
def test_any_accent_is_readable_on_light_and_on_dark(colour: str) -> None:
    light, dark = palettes(colour)
    assert contrast(light.accent, PAPER) >= 4.5
    assert contrast(dark.accent, NIGHT) >= 7


def test_a_readable_accent_stays_as_it_is() -> None:
    assert palettes("#b3261e")[0].accent == "#b3261e"
    assert palettes("#a00")[0].accent == "#aa0000"


@pytest.mark.parametrize("nonsense", ["", "red", "#12", "#12345g", "#fff;}x"])
def test_what_is_no_colour_is_the_default(nonsense: str) -> None:
    assert palettes(nonsense)[0].accent == DEFAULT_ACCENT


@given(st.from_regex(r"#[0-9a-f]{6}", fullmatch=True), st.from_regex(r"#[0-9a-f]{6}", fullmatch=True))
def test_all_text_is_readable_whatever_was_chosen(accent: str, background: str) -> None:
    for colours in palettes(accent, background):
        for text in (colours.ink, colours.title, colours.quote, colours.muted, colours.accent):
            assert contrast(text, colours.paper) >= 4.5
        assert contrast(colours.on_accent, colours.accent) >= 4.5


@given(st.from_regex(r"#[0-9a-f]{6}", fullmatch=True))
def test_the_background_is_kept_by_day_and_a_dark_one_by_night(background: str) -> None:
    by_day, by_night = palettes("", background)
    assert by_day.paper == background
    assert by_night.paper == (background if is_dark(background) else NIGHT)


def test_the_usual_colours_are_the_usual() -> None:
    by_day, by_night = palettes("")
    assert (by_day.paper, by_day.ink, by_day.muted, by_day.rule) == (PAPER, "#24211e", "#6a645d", "#e4e0d9")
    assert (by_night.paper, by_night.ink, by_night.muted, by_night.rule) == (
        NIGHT, "#e6e2db", "#a8a29a", "#33373c",
    )  # fmt: skip
