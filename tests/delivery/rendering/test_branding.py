"""A theme in letters and mails.

Quotes, code, tables and headings in the html of letters.
An admin's words above and below the posts.
"""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.html.clean import clean
from delivery.rendering.branding import as_html, as_text, boxed, look
from delivery.rendering.facts import ThemeFacts
from delivery.rendering.issue import render_issue
from delivery.rendering.mail import render_mail
from delivery.rendering.posts import for_letter
from tests.delivery.rendering.samples import SITE, entry, facts, html_of, one, text_of

PAGE = "https://blog.example/1"
BOX = '<table class="box" role="presentation" width="100%"><tr><td class="{}">'
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


def shown(html: str, level: int = 2) -> str:
    return boxed(for_letter(clean(html, base=PAGE), page=PAGE), level=level)


def test_a_quote_has_its_bar_and_space_in_a_cell() -> None:
    quote = f"<blockquote>{BOX.format('quote')}<p>a</p></td></tr></table></blockquote>"
    assert shown("<blockquote><p>a</p></blockquote>") == quote
    nested = shown("<blockquote>a<blockquote>b</blockquote></blockquote>")
    assert nested.count(BOX.format("quote")) == nested.count("</td></tr></table></blockquote>") == 2


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("a\nb", "a<br>b"),
        ("if x:\n    y", "if x:<br>&nbsp;&nbsp;&nbsp;&nbsp;y"),
        ("  a\n\n\tb", "&nbsp;&nbsp;a<br><br>&nbsp;&nbsp;&nbsp;&nbsp;b"),
        ("a   b c", "a&nbsp;&nbsp;&nbsp;b c"),
        ("<span title='a  b'>x</span>\n <i>y</i>", '<span title="a  b">x</span><br>&nbsp;<i>y</i>'),
    ],
)
def test_code_keeps_lines_and_indents_without_white_space(code: str, lines: str) -> None:
    assert (
        shown(f"<pre>\n{code}\n</pre>")
        == f'<div class="code">{BOX.format("code")}{lines}</td></tr></table></div>'
    )


def table(columns: int, *, head: str = "<tr>{}</tr>", cell: str = "v") -> str:
    heads = "".join(f"<th>H{number}" for number in range(columns))
    cells = "".join(f"<td>{cell}{number}" for number in range(columns))
    return f"<table>{head.format(heads)}<tr>{cells}</table>"


def test_a_table_of_up_to_six_columns_stays_and_a_wider_one_becomes_lines() -> None:
    assert 'class="grid"' in shown(table(6))
    wide = shown(table(7))
    assert "<table" not in wide
    assert wide.startswith('<p dir="auto">H0: v0<br>H1: v1<br>')
    assert "<table" in shown(table(7).replace("v0", "<img src=/i.png>"))
    assert wide == shown(table(7, head="<caption></caption><thead><tr>{}</thead>"))


def test_a_table_of_long_words_becomes_lines_as_well() -> None:
    assert "<table" not in shown(table(6, cell="precipitation"))
    assert "<table" not in shown(table(2, cell="https://blog.example/a-long-address/"))
    assert "<table" in shown(table(2, cell="many short words " * 20))


def test_cells_that_span_are_said_once_in_a_row_and_again_in_the_next_rows() -> None:
    heads = "<tr><th>Day<th>High<th>Low<th colspan=4>Wind</tr>"
    days = "<tr><td rowspan=2>Mon<td>1<td>2<td colspan=4>calm<tr><td>3<td>4<td>a<td><td>b<td>c"
    assert shown(f"<table>{heads}{days}</table>") == (
        '<p dir="auto">Day: Mon<br>High: 1<br>Low: 2<br>Wind: calm</p>'
        '<p dir="auto">Day: Mon<br>High: 3<br>Low: 4<br>Wind: a<br>Wind: b<br>Wind: c</p>'
    )


def test_a_wide_table_keeps_its_links_and_without_headings_is_a_line_for_each_row() -> None:
    cells = "".join(f'<td><a href="/{number}">&lt;{number}&gt;</a>' for number in range(7))
    html = shown(f"<table><caption>Sums</caption><tr>{cells}</table>")
    assert html.startswith('<p dir="auto">Sums</p><p dir="auto">&lt;0&gt; [1] | &lt;1&gt; [2] | ')
    assert html.count('<a href="https://blog.example/') == 7


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("template", ["post", "digest", "announcement"])
def test_each_letter_has_one_first_heading_and_skips_no_level(template: str, count: int) -> None:
    posts = [entry(n, content="<h1>a</h1><p>x</p><h2>b</h2><h4>c</h4>") for n in range(1, count + 1)]
    html = html_of(render_issue(facts(*posts, template=template)))
    levels = [int(level) for level in re.findall(r"<h([1-6])\b", html)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_notes_and_the_text_part_know_quotes_and_code() -> None:
    letter = render_issue(
        one(
            entry(content="<blockquote>a</blockquote><pre>b\n  c</pre>"),
            note_top="<blockquote>n</blockquote>",
        )
    )
    assert letter.html.count('class="quote"') == 2
    assert "\n> n\n" in letter.text
    assert "\n> a\n\n    b\n      c\n" in letter.text


@pytest.mark.parametrize(
    ("said", "html", "text"),
    [
        ("Hello", '<p dir="auto">Hello</p>', "Hello"),
        ("a\r\nb\n\nc", '<p dir="auto">a<br>b</p><p dir="auto">c</p>', "a\nb\n\nc"),
        (
            "See https://e.org/a_(b)?x=1&y=2.",
            '<p dir="auto">See <a href="https://e.org/a_(b)?x=1&amp;y=2">https://e.org/a_(b)?x=1&amp;y=2</a>.</p>',
            "See https://e.org/a_(b)?x=1&y=2.",
        ),
        (
            "[Us](https://e.org/)!",
            '<p dir="auto"><a href="https://e.org/">Us</a>!</p>',
            "Us (https://e.org/)!",
        ),
        ("ed@e.org", '<p dir="auto"><a href="mailto:ed@e.org">ed@e.org</a></p>', "ed@e.org"),
        ("[Ed](mailto:ed@e.org)", '<p dir="auto"><a href="mailto:ed@e.org">Ed</a></p>', "Ed (ed@e.org)"),
        (
            "[x](javascript:alert(1))",
            '<p dir="auto">[x](javascript:alert(1))</p>',
            "[x](javascript:alert(1))",
        ),
        ("<b>&", '<p dir="auto">&lt;b&gt;&amp;</p>', "<b>&"),
        (" \n ", "", ""),
    ],
)
def test_text_becomes_paragraphs_and_addresses_links(said: str, html: str, text: str) -> None:
    assert as_html(said) == html
    assert as_text(said) == text


@given(st.text(alphabet="<>\"'&[]()hts:/e.org@ \n", max_size=60))
def test_nothing_in_it_is_ever_markup(said: str) -> None:
    html = str(as_html(said))
    for allowed in ('<p dir="auto">', "</p>", "<br>", "</a>"):
        html = html.replace(allowed, "")
    while '<a href="' in html:
        before, _, rest = html.partition('<a href="')
        address, _, after = rest.partition('">')
        assert not set(address) & set("<>\"'")
        assert address.startswith(("https://", "http://", "mailto:"))
        html = before + after
    assert "<" not in html
