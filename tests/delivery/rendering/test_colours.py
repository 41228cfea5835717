import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.rendering.colours import DEFAULT, NIGHT, PAPER, accents, contrast


def test_contrast_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@given(st.from_regex(r"#[0-9a-f]{6}", fullmatch=True))
def test_any_accent_is_readable_on_light_and_on_dark(colour: str) -> None:
    light, dark = accents(colour)
    assert contrast(light, PAPER) >= 4.5
    assert contrast(dark, NIGHT) >= 7


def test_a_readable_accent_stays_as_it_is() -> None:
    assert accents("#b3261e")[0] == "#b3261e"
    assert accents("#a00")[0] == "#aa0000"


@pytest.mark.parametrize("nonsense", ["", "red", "#12", "#12345g", "#fff;}x"])
def test_what_is_no_colour_is_the_default(nonsense: str) -> None:
    assert accents(nonsense)[0] == DEFAULT
