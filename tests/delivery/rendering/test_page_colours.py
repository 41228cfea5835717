"""The colours of pages: whatever an admin chose, all text can be read."""

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from delivery.rendering.colours import (
    DANGER,
    DANGER_DARK,
    GROUND,
    GROUND_DARK,
    TINT,
    TINT_DARK,
    accent_by_day,
    contrast,
    stylesheet,
)

colours = st.from_regex(r"#[0-9a-f]{6}", fullmatch=True)
SITE = Path("subscriptions/static/feedletter/site.css")


def sheets(css: str) -> list[dict[str, str]]:
    """What holds by day and by night."""
    return [dict(re.findall(r"(--[\w-]+): (#\w{6})", part)) for part in css.split("@media")]


@given(colours)
def test_any_accent_is_readable_on_each_ground_and_the_button_on_it(accent: str) -> None:
    day, night = sheets(stylesheet(accent))
    for chosen, grounds in ((day, (GROUND, TINT, "#ffffff")), (night, (GROUND_DARK, TINT_DARK, "#1f1e1b"))):
        assert all(contrast(chosen["--accent"], ground) >= 4.5 for ground in grounds)
        assert contrast(chosen["--accent"], chosen["--on-accent"]) >= 4.5
    assert contrast(accent_by_day(accent), TINT) >= 4.5


@given(colours, colours)
def test_on_any_background_all_text_is_readable(accent: str, background: str) -> None:
    for chosen in sheets(stylesheet(accent, background)):
        assert chosen["--ground"] == chosen["--tint"] == chosen["--field"]
        for name in ("--text", "--quiet", "--accent", "--danger", "--field-line"):
            assert contrast(chosen[name], chosen["--ground"]) >= 4.5, name


def test_nothing_chosen_is_no_stylesheet() -> None:
    assert stylesheet("") == ""
    assert accent_by_day("") == ""


def test_the_grounds_are_those_of_the_stylesheet() -> None:
    css = SITE.read_text(encoding="utf-8").split("@media (prefers-color-scheme: dark)")
    for part, values in zip(
        css, ((GROUND, TINT, DANGER), (GROUND_DARK, TINT_DARK, DANGER_DARK)), strict=True
    ):
        found = dict(re.findall(r"(--[\w-]+): (#\w{6})", part[:1200]))
        assert (found["--ground"], found["--tint"], found["--danger"]) == values
        for name in ("--text", "--quiet", "--accent", "--danger"):
            assert all(
                contrast(found[name], found[ground]) >= 4.5 for ground in ("--ground", "--tint", "--field")
            )


def test_the_stylesheet_knows_no_left_or_right() -> None:
    """It serves pages that run from right to left as well."""
    css = re.sub(r"/\*.*?\*/", "", SITE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert not re.findall(
        r"[\s;{](?:(?:margin|padding|border)-(?:left|right)|left|right|text-align:\s*(?:left|right))\b", css
    )
