"""The colours of pages: all text is readable, whatever an admin chose."""

import re
from dataclasses import asdict
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from subscriptions.rules.colours import accent_by_day, contrast, page_colours, stylesheet

colours = st.from_regex(r"#[0-9a-f]{6}", fullmatch=True)
SITE = Path("subscriptions/static/feedletter/site.css")


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
