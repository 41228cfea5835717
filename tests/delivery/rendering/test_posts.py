"""Posts in letters and on pages.

Changes to a post's HTML in a letter.
A post's HTML on a page.
"""

import re
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.announcement import images_of
from common.html.balance import balance
from common.html.clean import clean
from delivery.rendering.facts import LETTER_WIDTH, web_address
from delivery.rendering.issue import render_issue
from delivery.rendering.page_posts import (
    PART_LENGTH,
    description_of,
    for_page,
    part_of,
    post_of,
    shown_posts,
    summary_of,
)
from delivery.rendering.posts import Image, LetterPost, for_letter, letter_html, letter_post, picture_of
from delivery.rendering.shortening import fair_share, shorten
from feeds.parsing.entry import Entry, Media, Person
from feeds.parsing.pictures import beside
from reader.rules.jf2 import post_jf2
from tests.delivery.rendering.samples import NOW, entry, one
from tests.factories import an_entry

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
PICTURE = Media("https://i.example/a.png?x=1&y=2", "image/png", alt="A bucket")
OTHER = Media("https://i.example/b.png", "image/png")


def shown(given: Entry) -> LetterPost:
    return letter_post(
        given,
        whole=letter_html(given),
        share=50_000,
        zone=ZoneInfo("UTC"),
        archive_url="",
        newsletter_language="en",
    )


def test_a_single_image_stands_on_top() -> None:
    assert shown(entry(media=(PICTURE,))).top_image == Image(PICTURE.url, "A bucket")


@pytest.mark.parametrize("url", [PICTURE.url, PICTURE.url.replace("&", "&amp;")])
def test_an_image_in_the_content_is_not_shown_twice(url: str) -> None:
    seen = shown(entry(media=(PICTURE,), content=f'<p><img src="{url}"></p>'))
    assert (seen.top_image, seen.images) == (None, ())


def test_several_images_stand_below() -> None:
    seen = shown(entry(media=(PICTURE, OTHER)))
    assert seen.top_image is None
    assert [image.url for image in seen.images] == [PICTURE.url, OTHER.url]


def test_the_posts_own_picture_is_used_when_there_is_no_other() -> None:
    seen = shown(entry(image="https://i.example/c.png"))
    assert seen.top_image == Image("https://i.example/c.png")
    assert (
        shown(entry(image="https://i.example/c.png", content='<img src="https://i.example/d.png">')).top_image
        is None
    )


def test_other_media_are_attachments_with_type_and_size() -> None:
    (sound,) = shown(entry(media=(Media("https://i.example/one%20two.mp3", "audio/mpeg", 1024),))).attachments
    assert (sound.name, sound.detail) == ("one two.mp3", "audio/mpeg, 1.0\xa0KB")


def test_media_that_lead_nowhere_are_left_out() -> None:
    nowhere = (Media("javascript:x", "image/png"), Media("file:///etc/passwd", "audio/mpeg"))
    seen = shown(entry(media=nowhere))
    assert (seen.top_image, seen.images, seen.attachments) == (None, (), ())


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,x", "//x", "http://", "http://[x", "", "/a"]
)
def test_what_is_no_web_address_is_no_link(url: str) -> None:
    assert web_address(url) == ""


def test_a_posts_text_and_its_title_each_have_a_direction() -> None:
    hebrew = "<p>שלום עולם</p>"
    for each, directions in (
        (entry(title="iPhone 17: שלום", content=hebrew), ("rtl", "rtl")),
        (entry(title="iPhone 17", content=hebrew), ("rtl", "ltr")),
        (entry(title="שלום means hello"), ("ltr", "ltr")),
        (entry(title="שלום"), ("ltr", "rtl")),
        (entry(title="Hello", language="ar"), ("ltr", "ltr")),
        (entry(title="", content="", language="ar"), ("rtl", "rtl")),
        (entry(title="שלום", content=""), ("rtl", "rtl")),
    ):
        post = shown(each)
        assert (post.direction, post.title_direction) == directions


@pytest.mark.parametrize(
    "cover",
    [
        "https://blog.example/uploads/pic.jpg",
        "http://www.blog.example/uploads/pic-scaled.jpg?w=300",
        "https://i0.wp.com/blog.example/uploads/pic-150x150.jpg?ssl=1",
    ],
)
def test_a_cover_in_another_size_than_in_the_text_is_shown_once_everywhere(cover: str) -> None:
    html = '<p><img src="https://blog.example/uploads/pic-1024x768.jpg" alt=""></p><p>Text.</p>'
    post = entry(content=html, image=cover, media=(Media(cover, "image/jpeg"), OTHER))
    letter = shown(post)
    assert letter.top_image is None
    assert [image.url for image in letter.images] == [OTHER.url]
    assert [image.url for image in post_of(post).images] == [OTHER.url]
    assert [image.url for image in images_of(post)] == [cover, OTHER.url]
    jf2 = post_jf2(post, feed=Person(), seen_at=NOW)
    assert beside([*jf2["photo"], *jf2.get("featured", [])], html) == [OTHER.url]


def test_a_small_picture_is_as_wide_as_its_feed_declares() -> None:
    small = entry(image="https://i.example/t.jpg", image_width=150)
    assert shown(small).top_image == Image("https://i.example/t.jpg", width=150)
    assert 'width="150"' in render_issue(one(small)).html
    large = entry(image="https://i.example/t.jpg", image_width=1_100)
    assert shown(large).top_image == Image("https://i.example/t.jpg", width=LETTER_WIDTH)


def test_sensitive_pictures_are_links() -> None:
    post = entry(media=(PICTURE,), image=PICTURE.url, sensitive=True)
    letter, page = shown(post), post_of(post)
    assert (letter.top_image, letter.images, page.images, picture_of(post)) == (None, (), (), "")
    assert [file.url for file in letter.attachments] == [file.url for file in page.files] == [PICTURE.url]
    assert f'<img src="{PICTURE.url}' not in render_issue(one(post)).html
    alone = shown(entry(image=PICTURE.url, sensitive=True))
    assert (alone.top_image, [file.url for file in alone.attachments]) == (None, [PICTURE.url])


def test_the_subject_and_the_preview_of_a_hidden_text_end_at_its_warning() -> None:
    html = "<p><strong>Content warning:</strong> bees</p><hr><p>They sting.</p>"
    status = entry(title="", content=html, warning="Content warning: bees")
    letter = render_issue(one(status))
    assert (letter.subject, shown(status).excerpt) == ("Content warning: bees",) * 2
    assert description_of(status) == "Content warning: bees"
    assert letter.html.count("They sting.") == 1


def html_shown(html: str, page: str = PAGE) -> str:
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
    assert html_shown(f"<p><img src=/a.png alt=x {attributes}></p>") == (
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
    assert "width" not in html_shown(html)


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
    assert html_shown(html).count('class="full"') == html.count("<img")


def test_every_image_has_words_if_only_empty_ones() -> None:
    assert 'alt=""' in html_shown("<img src=/a.png>")
    assert 'alt="Joke"' in html_shown("<img src=/a.png title=Joke>")
    assert 'alt="A cat" ' in html_shown("<img src=/a.png alt='A cat' title=Joke>")
    assert for_letter('a <img src="data:x" alt="A &lt;cat&gt;">', page="") == "a A &lt;cat&gt;"


def test_the_anchors_of_footnotes_become_text_and_the_way_back_goes() -> None:
    note = '<p>Rain<sup><a href="#fn1">1</a></sup></p><ol><li>Much. <a href="#r1">↩︎</a></li></ol>'
    assert html_shown(note) == "<p>Rain<sup>1</sup></p><ol><li>Much. </li></ol>"
    assert html_shown(f'<a href="{PAGE}#part">part</a>') == "part"


@pytest.mark.parametrize("fragment", ["comments", "respond", "disqus_thread"])
def test_what_is_only_on_the_web_stays_a_link(fragment: str) -> None:
    link = f'<a href="{PAGE}#{fragment}">Say something</a>'
    assert html_shown(link) == link


def test_other_links_stay() -> None:
    assert html_shown("<a href=/2#x>a</a><a href=https://e.org/>b</a>") == (
        '<a href="https://blog.example/2#x">a</a><a href="https://e.org/">b</a>'
    )
    assert html_shown("<a>a</a>") == "a"


def test_what_mail_programs_do_not_know_is_said_otherwise() -> None:
    folded = "<details><summary>More</summary>x</details>"
    assert html_shown(folded) == "<div><div><strong>More</strong></div>x</div>"
    assert html_shown("<section><header>a</header></section>") == "<div><div>a</div></div>"


def test_a_table_of_facts_has_lines_and_one_around_a_picture_has_none() -> None:
    assert 'class="grid"' in html_shown("<table><tr><th>a</th><td>b</td></tr></table>")
    assert 'class="grid"' in html_shown("<table><tr><td>a</td><td>b</td></tr></table>")
    picture = html_shown("<table><tr><td><img src=/a.png></td></tr><tr><td>b</td></tr></table>")
    assert picture.startswith('<table role="presentation">')
    assert "grid" not in picture
    nested = html_shown("<table><tr><td><p>x</p><table><tr><td>a</td></tr></table></td></tr></table>")
    assert nested.count('class="grid"') == 1


def test_language_and_direction_stay() -> None:
    html = '<p lang="ar" dir="rtl">مرحبا <bdi>a</bdi> <bdi dir="ltr">b</bdi></p>'
    # Several mail programs drop <bdi>.
    assert html_shown(html) == (
        '<p lang="ar" dir="rtl">مرحبا <span dir="auto">a</span> <span dir="ltr">b</span></p>'
    )


@pytest.mark.parametrize(
    "url", ["/a.svg", "/a.svg?x=1", "//img.shields.io/badge/a-b-c", "/render/svg/0af", "/c?format=svg&w=1"]
)
def test_an_svg_becomes_its_words_with_a_link_to_the_post(url: str) -> None:
    assert (
        html_shown(f'<p><img src="{url}" alt="Rain &lt;mm>"></p>')
        == f'<p><a href="{PAGE}">Rain &lt;mm&gt;</a></p>'
    )
    assert html_shown(f'<p><a href=/x><img src="{url}" alt="Rain"></a></p>') == (
        '<p><a href="https://blog.example/x">Rain</a></p>'
    )
    assert html_shown(f'<p>Rain <img src="{url}" alt=""></p>') == "<p>Rain </p>"
    assert "<img" in html_shown("<img src=/a.svg.png>")


def test_an_svg_without_words_has_its_name_if_it_is_alone() -> None:
    assert html_shown("<p><img src=/rain%202.svg></p>") == f'<p><a href="{PAGE}">rain 2.svg</a></p>'


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_every_tag_that_was_opened_is_closed(html: str) -> None:
    seen = html_shown(html)
    for name in ("a", "div", "p", "strong", "sup", "table"):
        assert len(re.findall(rf"<{name}\b", seen)) == seen.count(f"</{name}>")


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


def test_small_posts_leave_their_room_to_long_ones() -> None:
    assert fair_share([10, 1000, 1000], 110) == 50
    assert fair_share([10, 20], 110) == 20


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=30), st.integers(0, 50_000))
def test_shares_fit_the_budget_and_cut_nothing_that_fits(sizes: list[int], budget: int) -> None:
    share = fair_share(sizes, budget)
    cut = [min(size, share) for size in sizes]
    assert sum(cut) <= budget
    assert cut == sizes or sum(sizes) > budget


@given(
    st.lists(
        st.sampled_from(["<p>", "</p>", "<b>x</b>", "rain ", "<br>", "&amp;", '<img src="x">', "</div>"])
    )
)
def test_what_is_cut_is_short_and_closed(pieces: list[str]) -> None:
    html = balance("".join(pieces * 20))
    cut = shorten(html, 200)
    assert len(cut) <= len("<p></p>") + 5 * 200
    assert balance(cut) == cut


def test_only_what_is_too_long_is_cut() -> None:
    assert shorten("<p>Rain.</p>", 12) == "<p>Rain.</p>"
    assert shorten("<p>Rain on the river.</p>" * 10, 100) == "<p>Rain on the river.</p>" * 4
