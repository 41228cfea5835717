import pytest
from hypothesis import given
from hypothesis import strategies as st

from subscriptions.rules.colours import DEFAULT_ACCENT, PAPER, contrast, is_dark, palettes


def test_contrast_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@given(st.from_regex(r"#[0-9a-f]{6}", fullmatch=True))
def test_any_accent_is_readable_on_light_and_on_dark(colour: str) -> None:
    light, dark = palettes(colour)
    assert contrast(light.accent, PAPER) >= 4.5
    assert contrast(dark.accent, dark.paper) >= 7


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
    assert by_night.paper == (background if is_dark(background) else palettes("")[1].paper)


def spread(colour: str) -> int:
    """Return how far a grey is from neutral."""
    parts = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    return max(parts) - min(parts)


def test_greys_lean_to_the_accent_and_those_of_a_grey_accent_are_plain() -> None:
    by_day, by_night = palettes("#808080")
    for name in ("ink", "muted", "rule", "block"):
        assert spread(getattr(by_day, name)) == spread(getattr(by_night, name)) == 0
    blue, red = palettes("#1f5f8b")[0].rule, palettes("#b3261e")[0].rule
    assert blue[1:3] < blue[5:7]
    assert red[1:3] > red[5:7]
    assert max(spread(blue), spread(red)) < 24
