"""Changes to a post's HTML in a letter."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.html.clean import clean
from delivery.rendering.posts import for_letter

PAGE = "https://blog.example/1"
PIECES = [
    "<p>",
    "</p>",
    "<a href='#x'>",
    "</a>",
    "<img src=/a>",
    "↩",
    "<table>",
    "<td>",
    "<details>",
    "<sup>",
    "x",
    "<b>",
]


def shown(html: str, page: str = PAGE) -> str:
    return for_letter(clean(html, base=PAGE), page=page)


@pytest.mark.parametrize(
    ("attributes", "kept"),
    [
        ("width=1600 height=900", 'width="552"'),
        ("width=400 height=300", 'width="400"'),
        ("width=20 height=20", 'width="20" height="20"'),
        ("width=50%", 'width="276"'),
        ("width=100% height=auto", 'width="552"'),
        ("width=3000px", 'width="552"'),
        ("height=20", 'height="20" style="height:20px"'),
        ("", 'width="552" class="full"'),
        ("width=auto", 'width="552" class="full"'),
    ],
)
def test_an_image_is_never_wider_than_the_letter_and_a_tiny_one_stays_tiny(
    attributes: str, kept: str
) -> None:
    assert shown(f"<p><img src=/a.png alt=x {attributes}></p>") == (
        f'<p><img src="https://blog.example/a.png" alt="x" {kept}></p>'
    )


@pytest.mark.parametrize(
    "html",
    [
        "<p>See <img src=/i.png> here</p>",
        "<p>See <a href=/x><b><img src=/i.png></b></a></p>",
        "<p><img src=/i.png><img src=/j.png></p>",
        "<table><tr><td><a href=/x><img src=/i.png></a></td><td>Words</td></tr></table>",
        "<li>a <img src=/i.png></li>",
    ],
)
def test_an_image_among_words_is_not_blown_up(html: str) -> None:
    assert "width" not in shown(html)


@pytest.mark.parametrize(
    "html",
    [
        "<img src=/i.png>",
        "<p><a href=/big.png><img src=/i.png></a></p>",
        "<figure><img src=/i.png><figcaption>x</figcaption></figure>",
        "<p>a<br><img src=/i.png>&nbsp;<br>b</p>",
        "<p><img src=/i.jpg> <img src=/j.jpg></p>",
    ],
)
def test_an_image_in_a_line_of_its_own_may_fill_the_letter(html: str) -> None:
    assert shown(html).count('class="full"') == html.count("<img")


def test_every_image_has_words_if_only_empty_ones() -> None:
    assert 'alt=""' in shown("<img src=/a.png>")
    assert 'alt="Joke"' in shown("<img src=/a.png title=Joke>")
    assert 'alt="A cat" ' in shown("<img src=/a.png alt='A cat' title=Joke>")
    assert for_letter('a <img src="data:x" alt="A &lt;cat&gt;">', page="") == "a A &lt;cat&gt;"


def test_the_anchors_of_footnotes_become_text_and_the_way_back_goes() -> None:
    note = '<p>Rain<sup><a href="#fn1">1</a></sup></p><ol><li>Much. <a href="#r1">↩︎</a></li></ol>'
    assert shown(note) == "<p>Rain<sup>1</sup></p><ol><li>Much. </li></ol>"
    assert shown(f'<a href="{PAGE}#part">part</a>') == "part"


@pytest.mark.parametrize("fragment", ["comments", "respond", "disqus_thread"])
def test_what_is_only_on_the_web_stays_a_link(fragment: str) -> None:
    link = f'<a href="{PAGE}#{fragment}">Say something</a>'
    assert shown(link) == link


def test_other_links_stay() -> None:
    assert shown("<a href=/2#x>a</a><a href=https://e.org/>b</a>") == (
        '<a href="https://blog.example/2#x">a</a><a href="https://e.org/">b</a>'
    )
    assert shown("<a>a</a>") == "a"


def test_what_mail_programs_do_not_know_is_said_otherwise() -> None:
    folded = "<details><summary>More</summary>x</details>"
    assert shown(folded) == "<div><div><strong>More</strong></div>x</div>"
    assert shown("<section><header>a</header></section>") == "<div><div>a</div></div>"


def test_a_table_of_facts_has_lines_and_one_around_a_picture_has_none() -> None:
    assert 'class="grid"' in shown("<table><tr><th>a</th><td>b</td></tr></table>")
    assert 'class="grid"' in shown("<table><tr><td>a</td><td>b</td></tr></table>")
    picture = shown("<table><tr><td><img src=/a.png></td></tr><tr><td>b</td></tr></table>")
    assert picture.startswith('<table role="presentation">')
    assert "grid" not in picture
    nested = shown("<table><tr><td><p>x</p><table><tr><td>a</td></tr></table></td></tr></table>")
    assert nested.count('class="grid"') == 1


def test_language_and_direction_stay() -> None:
    html = '<p lang="ar" dir="rtl">مرحبا <bdi>a</bdi> <bdi dir="ltr">b</bdi></p>'
    # Several mail programs drop <bdi>.
    assert shown(html) == (
        '<p lang="ar" dir="rtl">مرحبا <span dir="auto">a</span> <span dir="ltr">b</span></p>'
    )


@pytest.mark.parametrize(
    "url", ["/a.svg", "/a.svg?x=1", "//img.shields.io/badge/a-b-c", "/render/svg/0af", "/c?format=svg&w=1"]
)
def test_an_svg_becomes_its_words_with_a_link_to_the_post(url: str) -> None:
    assert (
        shown(f'<p><img src="{url}" alt="Rain &lt;mm>"></p>')
        == f'<p><a href="{PAGE}">Rain &lt;mm&gt;</a></p>'
    )
    assert shown(f'<p><a href=/x><img src="{url}" alt="Rain"></a></p>') == (
        '<p><a href="https://blog.example/x">Rain</a></p>'
    )
    assert shown(f'<p>Rain <img src="{url}" alt=""></p>') == "<p>Rain </p>"
    assert "<img" in shown("<img src=/a.svg.png>")


def test_an_svg_without_words_has_its_name_if_it_is_alone() -> None:
    assert shown("<p><img src=/rain%202.svg></p>") == f'<p><a href="{PAGE}">rain 2.svg</a></p>'


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_every_tag_that_was_opened_is_closed(html: str) -> None:
    seen = shown(html)
    for name in ("a", "div", "p", "strong", "sup", "table"):
        assert len(re.findall(rf"<{name}\b", seen)) == seen.count(f"</{name}>")
