"""A theme in letters and mails."""

import re

import pytest

from delivery.rendering.branding import look
from delivery.rendering.facts import ThemeFacts
from delivery.rendering.issue import render_issue
from delivery.rendering.mail import render_mail
from tests.delivery.rendering.samples import SITE, entry, facts, html_of, one, text_of

THEME = ThemeFacts(
    accent="#7a3b9d",
    background="#faf6ef",
    logo_url="https://i.example/logo.png",
    logo_alt="The Valley",
    logo_width=200,
    header="News from [both banks](https://valley.example/).",
    footer="Made by hand.",
    postal_address="12 River Road\nOld Bridge",
)
CONFIRM = {"newsletter": "The Valley Weekly", "confirm_url": f"{SITE}/confirm/x/", "hours": "48"}


@pytest.mark.parametrize("template", ["post", "digest", "announcement"])
def test_every_letter_wears_the_theme(template: str) -> None:
    letter = render_issue(facts(template=template, theme=THEME))
    html, text = html_of(letter), text_of(letter)
    assert "#7a3b9d" in html
    assert 'bgcolor="#faf6ef"' in html
    (logo,) = re.findall(r'<img class="logo"[^>]*>', html)
    for attribute in ('src="https://i.example/logo.png"', 'width="200"', 'alt="The Valley"'):
        assert attribute in logo
    assert (
        html.index("both banks")
        < html.index("by Ada")
        < html.index("Made by hand.")
        < html.index("River Road")
    )
    assert (
        text.index("both banks (https://valley.example/).")
        < text.index("Post 1")
        < text.index("Made by hand.")
    )
    assert text.endswith("12 River Road\nOld Bridge\n")


def test_mails_about_the_newsletter_wear_it_without_the_words_around_posts() -> None:
    mail = render_mail("confirmation", CONFIRM, theme=THEME)
    html = html_of(mail)
    assert 'bgcolor="#7a3b9d"' in html
    assert "logo.png" in html
    assert "River Road" in html
    assert "River Road" in text_of(mail)
    assert "both banks" not in html
    assert "Made by hand" not in html


def test_a_logo_with_words_stands_in_place_of_the_name_and_a_mark_beside_it() -> None:
    said = html_of(render_issue(one(entry(), theme=THEME)))
    mark = html_of(render_issue(one(entry(), theme=ThemeFacts(logo_url="https://i.example/m.png"))))
    head = re.compile(r'<p class="name".*?</p>', re.DOTALL)
    assert "The Valley Weekly" not in head.search(said)[0]  # type: ignore[index]
    assert "The Valley Weekly" in head.search(mark)[0]  # type: ignore[index]
    assert re.search(r'<img class="logo" alt=""[^>]* width="120"', mark)


def test_the_theme_wins_over_parameters_which_win_over_the_usual() -> None:
    params = {"accent": "#b3261e", "postal_address": "Params Lane"}
    plain = look(name="x", language="en", params=params)
    themed = look(name="x", language="en", params=params, theme=THEME)
    partly = look(name="x", language="en", params=params, theme=ThemeFacts(footer="f"))
    assert (plain.accent, plain.postal_address) == ("#b3261e", "Params Lane")
    assert (themed.accent, themed.postal_address) == ("#7a3b9d", "12 River Road\nOld Bridge")
    assert (partly.accent, partly.postal_address) == (plain.accent, plain.postal_address)


def test_no_theme_brings_markup_or_other_addresses_in() -> None:
    evil = '"><script>x</script>'
    theme = ThemeFacts(
        accent="red;}</style>",
        background='"><x',
        logo_url="javascript:x",
        header=evil,
        footer=evil,
        postal_address=evil,
    )
    html = html_of(render_issue(facts(theme=theme)))
    assert "<script" not in html
    assert "javascript:" not in html
    assert 'class="logo"' not in html
    assert "red;" not in html


def test_dark_mode_puts_pictures_on_the_paper_of_the_day() -> None:
    """Drawings with a transparent background are black, too."""
    sheet = html_of(render_issue(one(entry(), theme=THEME))).partition("prefers-color-scheme")[2]
    (rule,) = re.findall(r"([^{}]*)\{ background-color: #faf6ef !important; \}", sheet)
    assert [each.strip() for each in rule.split(",")] == [".post img", ".picture img", ".banner img"]


def test_words_that_are_not_translated_say_their_language() -> None:
    html = html_of(render_issue(facts(language="ar", sign_up_url=SITE, content="excerpt")))
    for words in ("Read online", "by Ada", "3 posts", "Read on", "You get this", "Unsubscribe", "Did some"):
        line = re.search(rf"<(?:p|div)\b[^\n]*>{words}", html)
        assert line, words
        assert 'lang="en"' in line[0]
    german = html_of(render_issue(facts(language="de-AT")))
    assert set(re.findall(r' lang="([^"]*)"', german)) == {"de-AT"}
    assert '<html lang="en" dir="ltr"' in render_mail("confirmation", CONFIRM, language="ar").html


def test_the_frame_of_a_letter_has_a_name() -> None:
    html = render_issue(one(entry(title='Rain & "sun"'))).html
    assert re.search(
        r'role="article" aria-roledescription="email" aria-label="Rain &amp; &quot;sun&quot;"', html
    )


def test_a_logo_is_never_wider_than_the_letter() -> None:
    wide = look(
        name="x", language="en", params={}, theme=ThemeFacts(logo_url="https://i.example/", logo_width=9000)
    )
    assert wide.logo is not None
    assert wide.logo.width == 552
