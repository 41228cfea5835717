"""Colours and names of the site and its pages.

The colours of pages: all text is readable, whatever an admin chose.
The name of an unnamed site, and the size of its logo.
"""

import re
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subscriptions.rules.colours import (
    DEFAULT_ACCENT,
    PAPER,
    accent_by_day,
    contrast,
    is_dark,
    page_colours,
    palettes,
    stylesheet,
)
from subscriptions.rules.site import NAMELESS, logo_size, usual_name

colours = st.from_regex(r"#[0-9a-f]{6}", fullmatch=True)
SITE = Path("subscriptions/static/feedletter/site.css")


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


def sheets(css: str) -> list[dict[str, str]]:
    """Return the rules of the light and the dark scheme."""
    return [dict(re.findall(r"(--[\w-]+): (#\w{6})", part)) for part in css.split("@media")]


@given(colours)
def test_with_any_accent_everything_is_readable_on_every_ground(accent: str) -> None:
    for chosen in page_colours(accent):
        for ground in (chosen.ground, chosen.tint, chosen.field):
            for text in (chosen.text, chosen.quiet, chosen.accent, chosen.danger):
                assert contrast(text, ground) >= 4.5
            # A field's border is no text (WCAG 2.2 §1.4.11).
            assert contrast(chosen.field_line, ground) >= 3
        assert contrast(chosen.accent, chosen.on_accent) >= 4.5
    assert accent_by_day(accent) == page_colours(accent)[0].accent


@given(colours, colours)
def test_on_any_background_all_text_is_readable(accent: str, background: str) -> None:
    for chosen in sheets(stylesheet(accent, background)):
        assert chosen["--ground"] == chosen["--tint"] == chosen["--field"]
        for name in ("--text", "--quiet", "--accent", "--danger", "--field-line"):
            assert contrast(chosen[name], chosen["--ground"]) >= 4.5, name


def test_nothing_chosen_is_no_stylesheet() -> None:
    assert stylesheet("") == ""
    assert accent_by_day("") == ""


def test_the_site_wears_what_the_rule_makes_of_the_usual_accent() -> None:
    css = SITE.read_text(encoding="utf-8").split("@media (prefers-color-scheme: dark)")
    for part, usual in zip(css, page_colours(""), strict=True):
        found = dict(re.findall(r"(--[\w-]+): (#\w{6})", part[:1200]))
        assert found == {f"--{name.replace('_', '-')}": value for name, value in asdict(usual).items()}


def test_the_stylesheet_knows_no_left_or_right() -> None:
    """It also serves pages from right to left."""
    css = re.sub(r"/\*.*?\*/", "", SITE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert not re.findall(
        r"[\s;{](?:(?:margin|padding|border)-(?:left|right)|left|right|text-align:\s*(?:left|right))\b", css
    )


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("letters.example.org", "letters.example.org"),
        ("xn--bcher-kva.example", "bücher.example"),
        ("xn--.example", "xn--.example"),
        ("127.0.0.1", NAMELESS),
        ("192.0.2.7", NAMELESS),
        ("[2001:db8::1]", NAMELESS),
        ("2001:db8::1", NAMELESS),
        ("localhost", NAMELESS),
    ],
)
def test_a_site_is_called_by_its_domain_and_never_by_a_number(host: str, name: str) -> None:
    assert usual_name(host) == name


def test_a_logo_is_shown_at_half_its_size_at_most() -> None:
    assert logo_size(200, 60) == (100, 30)
    assert logo_size(1104, 200) == (240, 43)
    assert logo_size(1104, 1104) == (48, 48)
    assert logo_size(1, 1104) == (1, 48)
