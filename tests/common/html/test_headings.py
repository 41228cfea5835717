"""Headings without their permalinks, and without the post's title."""

import pytest

from common.html.clean import clean
from common.html.titles import without_title

PAGE = "https://blog.example.org/posts/one"


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
