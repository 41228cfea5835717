"""Titles and names as one line of text.

Headings without their permalinks, and without the post's title.
"""

import re
from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.html.clean import clean
from common.html.titles import TITLE_ELEMENTS, TITLE_VOID, plain_title, without_title
from common.text import one_line

PAGE = "https://blog.example.org/posts/one"
WORDS = st.text(alphabet=st.characters(exclude_categories=["Cc", "Cs"]), max_size=60)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("The <dialog> element", "The <dialog> element"),
        ("Using List<String> in Java", "Using List<String> in Java"),
        ("std::vector<b> and Map<K, V>", "std::vector<b> and Map<K, V>"),
        ("</i> ends nothing", "</i> ends nothing"),
        ("<!-- TODO --> is a comment", "<!-- TODO --> is a comment"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("How <b>bold</b> is it", "How bold is it"),
        ('A <A HREF="https://x.example/">link</A> and <span class="x">more</span>', "A link and more"),
        ("H<sub>2</sub>O, <b>x <i>y</b> z</i>", "H2O, x y z"),
        ('One<br>two<br />three<wbr>four<img src="x.png">', "One two threefour"),
        ("<script>alert(1)</script>In a <style>b {}</style>title", "In a title"),
        ("How to end a <script> early", "How to end a <script> early"),
        ("<script><b></script></b>", "</b>"),
        ("<p>One</p><p>List<String></p>", "One List<String>"),
        ("The <p>…</p> pair", "The <p>…</p> pair"),
        ("AT&amp;T &lt;video&gt; &#8211; twice&#x21;", "AT&T <video> – twice!"),
        ("?a=1&copy=2&lt=3", "?a=1&copy=2&lt=3"),
        ("&amp;lt;b&amp;gt;", "&lt;b&gt;"),
        ("two\r\nlines\u2028 and\ta tab\x00", "two lines and a tab"),
    ],
)
def test_only_closed_and_void_markup_leaves_a_title(text: str, line: str) -> None:
    assert plain_title(text) == line


def test_of_a_title_that_is_html_any_closed_element_is_markup() -> None:
    assert plain_title("<p>One &amp; <dfn>two</dfn></p><p>three</p>", is_html=True) == "One & two three"
    assert plain_title("<p>One</p> <dialog> List<String>", is_html=True) == "One <dialog> List<String>"


@given(WORDS)
def test_a_text_that_was_escaped_once_is_that_text(text: str) -> None:
    assert plain_title(escape(text)) == one_line(text)
    assert plain_title(escape(text), is_html=True) == one_line(text)


@given(WORDS, st.sampled_from(sorted(TITLE_ELEMENTS - {"script", "style"})), WORDS)
def test_the_words_around_and_in_an_element_stay(before: str, name: str, inside: str) -> None:
    written = f"{escape(before)}<{name}>{escape(inside)}</{name}>"
    assert plain_title(written) == one_line(before + inside)


@given(st.lists(st.sampled_from(["<", ">", "</", "b", "String", " ", "&", ";", "lt", "script"])).map("".join))
def test_what_is_no_markup_of_a_title_stays(text: str) -> None:
    if not re.search(rf"&#?\w+;|<({'|'.join(TITLE_ELEMENTS | TITLE_VOID)})\b", text):
        assert plain_title(text) == one_line(text)


@given(st.text())
def test_a_title_is_one_line_without_controls(text: str) -> None:
    line = plain_title(text)
    line.encode()
    assert len(line.splitlines()) <= 1
    assert not re.search(r"[\x00-\x1f\x7f]", line)


@pytest.mark.parametrize(
    "anchor",
    [
        "<a class='headerlink' href='#a' title='Permalink'>¶</a>",
        "<a href='#a' aria-hidden='true'>#</a>",
        f"<a href='{PAGE}#a'>🔗</a>",
        "<a href='https://blog.example.org/#a'>§</a>",
        "<a href='#a'><span class='sr-only'>Permalink to this heading</span></a>",
        "<a href='#a'><svg viewBox='0 0 16 16'><path/></svg></a>",
        "<a href='#a'>&ZeroWidthSpace;</a>",
    ],
)
def test_an_anchor_without_words_goes(anchor: str) -> None:
    assert clean(f"<h2>Usage {anchor}</h2>", base=PAGE) == "<h2>Usage</h2>"
    assert clean(f"<h3>{anchor}Usage</h3>", base=PAGE) == "<h3>Usage</h3>"


@pytest.mark.parametrize(
    "html",
    [
        "<h2><a href='#a'>Usage</a></h2>",
        "<h2>Usage <a href='https://elsewhere.example/#a'>→</a></h2>",
        "<h2>Usage <a href='/two'>→</a></h2>",
        "<h2>Note <a href='#fn1'>1</a></h2>",
        "<p>Back <a href='#top'>↑</a></p>",
    ],
)
def test_other_links_stay(html: str) -> None:
    assert clean(html, base=PAGE).count("<a ") == 1


@pytest.mark.parametrize(
    "html",
    [
        "<h1>Said twice</h1>",
        "<div><header><h2 id=x><a href='/one'>Said  <b>twice!</b></a> <a href='#x'>#</a></h2></header></div>",
        "<p><img src='/a.jpg'></p><h1>SAID TWICE</h1>",
    ],
)
def test_a_first_heading_that_is_the_title_goes(html: str) -> None:
    shown = without_title(clean(f"{html}<p>Body</p>", base=PAGE), "Said twice!")
    assert "wice" not in shown
    assert shown.endswith("<p>Body</p>")


@pytest.mark.parametrize(
    "html",
    [
        "<h1>Another</h1><p>Body</p>",
        "<p>First</p><h1>Said twice</h1><p>Body</p>",
        "<h3>Said twice</h3><p>Body</p>",
        "<h1>Said twice</h1>",
    ],
)
def test_other_headings_stay(html: str) -> None:
    assert without_title(clean(html, base=PAGE), "Said twice") == html


def test_a_title_in_angle_brackets_or_without_letters_is_compared_as_text() -> None:
    assert (
        without_title(clean("<h1>List&lt;String&gt;</h1><p>x</p>", base=PAGE), "List<String>") == "<p>x</p>"
    )
    assert without_title(clean("<h1>!</h1><p>x</p>", base=PAGE), "?") == "<h1>!</h1><p>x</p>"
    assert without_title(clean("<h1>!</h1><p>x</p>", base=PAGE), "") == "<h1>!</h1><p>x</p>"
