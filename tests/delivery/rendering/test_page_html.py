"""A post's HTML on a page."""

import pytest

from delivery.rendering.page_posts import (
    PART_LENGTH,
    description_of,
    for_page,
    part_of,
    shown_posts,
    summary_of,
)
from delivery.rendering.posts import picture_of
from feeds.parsing.entry import Media
from tests.factories import an_entry


@pytest.mark.parametrize(
    ("html", "made"),
    [
        ("<h1>A</h1><h2>B</h2><h1>C</h1>", "<h3>A</h3><h4>B</h4><h3>C</h3>"),
        ("<h2 id=x>A</h2><h5>B</h5>", "<h3 id=x>A</h3><h4>B</h4>"),
        (
            "".join(f"<h{n}>A</h{n}>" for n in range(1, 7)),
            "<h3>A</h3><h4>A</h4><h5>A</h5>" + "<h6>A</h6>" * 3,
        ),
        ("<p>h1 &lt;h1&gt;</p><hr><header>x</header>", "<p>h1 &lt;h1&gt;</p><hr><header>x</header>"),
    ],
)
def test_headings_come_below_the_title_and_leave_no_level_out(html: str, made: str) -> None:
    assert for_page(html, level=3) == made


def test_a_picture_without_words_says_that_it_has_none() -> None:
    assert (
        for_page('<img src="a"><img src="b" alt="B">', level=3) == '<img alt="" src="a"><img src="b" alt="B">'
    )


def test_a_wide_table_can_be_moved_by_keys() -> None:
    made = for_page("<table><tr><td>1</td></tr></table>", level=3)
    assert made == '<div class="wide" tabindex="0"><table><tr><td>1</td></tr></table></div>'


def test_the_beginning_of_a_long_post_is_whole_html_and_says_that_it_is_cut() -> None:
    part = part_of(an_entry(content="<p>" + "<em>word</em> " * 2000 + "</p>"))
    assert part.is_cut
    assert len(part.html) <= 2 * PART_LENGTH
    assert part.html.count("<em>") == part.html.count("</em>")
    assert not part_of(an_entry()).is_cut


def test_a_post_runs_the_way_its_words_do() -> None:
    hebrew = an_entry(title="iPhone: שלום", content="<p>iPhone, iPad: שלום</p>", language="he")
    (post,) = shown_posts([hebrew]).posts
    assert (post.language, post.direction, post.title_direction) == ("he", "rtl", "rtl")
    assert shown_posts([an_entry()], newsletter_language="he").posts[0].direction == "ltr"


def test_a_page_is_summed_up_by_its_post_or_by_the_titles_of_several() -> None:
    assert summary_of([an_entry(content="<p>One</p><p>two &amp; three</p>")]) == "One two & three"
    assert summary_of([an_entry(1), an_entry(2)]) == "Post 1 · Post 2"
    assert len(description_of(an_entry(content="word " * 500))) <= 200
    assert summary_of([]) == ""


def test_the_picture_of_a_post_is_its_own_or_one_of_its_text() -> None:
    picture = Media("https://blog.example/m.png", "image/png")
    assert (
        picture_of(an_entry(image="https://blog.example/i.png", media=(picture,)))
        == "https://blog.example/i.png"
    )
    assert picture_of(an_entry(media=(picture,))) == picture.url
    inside = '<p><img alt="x" src="https://blog.example/?a=1&amp;b=2"></p>'
    assert picture_of(an_entry(content=inside)) == "https://blog.example/?a=1&b=2"
    assert picture_of(an_entry(image="javascript:alert(1)")) == ""
