"""Quotes, code, tables and headings in the html of letters."""

import re
from itertools import pairwise

import pytest

from common.html.clean import clean
from delivery.rendering.branding import boxed
from delivery.rendering.issue import render_issue
from delivery.rendering.posts import for_letter
from tests.delivery.rendering.samples import entry, facts, html_of, one

PAGE = "https://blog.example/1"
BOX = '<table class="box" role="presentation" width="100%"><tr><td class="{}">'


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
