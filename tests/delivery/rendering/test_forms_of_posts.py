"""A newsletter shows its posts in full, as excerpts with a picture, or as titles."""

import re
from html.parser import HTMLParser

import html5lib  # type: ignore[import-untyped]
import pytest

from delivery.rendering.facts import ThemeFacts
from delivery.rendering.issue import render_issue
from tests.delivery.rendering.samples import entry, facts, html_of, one, text_of

LONG = "<p>" + "It rains on the harbour again today. " * 40 + "</p>"
PICTURE = '<p><img src="https://blog.example/pier.jpg" alt="Pier"></p>'
NOTE = entry(2, title="", content="<p>Saw a heron at the weir.</p>")


def test_an_excerpt_has_the_picture_the_title_and_two_lines() -> None:
    letter = render_issue(facts(entry(1, content=PICTURE + LONG), entry(2), content="excerpt"))
    html, text = html_of(letter), text_of(letter)
    assert html.count("It rains on the harbour again today.") < 10
    assert html.index("https://blog.example/pier.jpg") < html.index("Post 1</a>")
    assert html.count(">Continue reading") == 1  # Post 2 is there in full.
    assert "Post 2" in text
    assert len(text) < 1500


def test_an_excerpt_ends_before_a_table() -> None:
    table = "<p>I count them.</p><table><tr><td>Boats</td><td>14</td></tr></table>"
    only = "<table><tr><td>Ferries</td></tr></table>"
    letter = render_issue(facts(entry(1, content=table), entry(2, content=only), content="excerpt"))
    text = text_of(letter)
    assert "I count them." in text
    assert "Boats" not in text
    assert "Ferries" in text


@pytest.mark.parametrize("content", ["full", "excerpt", "titles"])
def test_first_words_preview_and_direction_come_from_the_post_whatever_is_shown(content: str) -> None:
    hebrew = entry(3, title="", content="<p>שלום עולם</p>", language="he")
    empty = entry(4, title="", content='<p><img src="https://blog.example/pier.jpg"></p>')
    alone = html_of(render_issue(one(NOTE, content=content)))
    assert preheader_of(alone) == "Saw a heron at the weir."
    html = html_of(render_issue(facts(entry(1), NOTE, empty, hebrew, content=content)))
    assert preheader_of(html) == "Saw a heron at the weir. · שלום עולם"
    assert re.search(r'<div[^>]* lang="he" dir="rtl"', html)


def test_an_untitled_post_among_titles_is_linked_by_its_first_words() -> None:
    bare = entry(3, title="", content="", published=None)
    letter = render_issue(facts(entry(1), NOTE, bare, content="titles"))
    html, text = html_of(letter), text_of(letter)
    assert re.search(r'<a href="https://blog.example/2"[^>]*>Saw a heron at the weir\.</a>', html)
    assert re.search(r'<a href="https://blog.example/3"[^>]*>Untitled post</a>', html)
    assert "\nSaw a heron at the weir.\n========================\n" in text


def test_an_excerpt_begins_after_a_table_of_contents() -> None:
    contents = (
        '<div><p>Contents</p><nav><ul><li><a href="https://blog.example/1#a">Boats</a>'
        '<ul><li><a href="https://blog.example/1#b">Small</a></li></ul></li></ul></nav></div>'
    )
    letter = render_issue(facts(entry(1, content=f"{contents}<p>It rains.</p>"), content="excerpt"))
    assert preheader_of(html_of(letter)) == "It rains."
    assert "\n\nIt rains.\n" in text_of(letter)
    assert "Boats" not in letter.text


def preheader_of(html: str) -> str:
    words: str = re.search(r'<div class="preheader"[^>]*>([^<]*)</div>', html)[1]  # type: ignore[index]
    return re.sub(r"(?:[\u034f\u200c\xa0 ]|&nbsp;)+\Z", "", words)


def test_the_preview_says_what_the_subject_does_not() -> None:
    assert preheader_of(html_of(render_issue(facts()))) == "Post 2 · Post 3"
    own = render_issue(facts(theme=ThemeFacts(subject="{newsletter}, {count} posts")))
    assert preheader_of(html_of(own)) == "Post 1 · Post 2 · Post 3"
    link = render_issue(one(entry(content="")))
    assert preheader_of(html_of(link)) == "by Ada Lovelace · blog.example"


@pytest.mark.parametrize("archive_url", ["", "https://letters.example/s/valley/archive/"])
def test_posts_that_are_only_listed_are_linked(archive_url: str) -> None:
    posts = (entry(1), entry(2), NOTE, entry(4, title="", content=""), entry(5))
    letter = render_issue(facts(*posts, most_posts=1, archive_url=archive_url))
    html, text = html_of(letter), text_of(letter)
    for number, words in ((2, "Saw a heron at the weir."), (4, "Untitled post"), (5, "Post 5")):
        assert re.search(rf'<a href="https://blog.example/{number}"[^>]*>{words}</a>', html)
        assert f"- {words}\n  https://blog.example/{number}\n" in text


def test_a_post_without_an_address_is_listed_with_its_place_on_the_issues_page_or_sent_whole() -> None:
    bare = entry(3, link="")
    public = render_issue(facts(entry(1), entry(2), bare, most_posts=1))
    assert 'archive/#post-3"' in html_of(public)
    assert "archive/#post-3\n" in text_of(public)
    private = render_issue(facts(entry(1), entry(2), bare, most_posts=1, archive_url=""))
    assert "The text of post 3." in private.html
    assert "The text of post 2." not in private.html


def test_titles_only_has_no_text_and_no_contents() -> None:
    letter = render_issue(facts(entry(1, content=PICTURE + LONG), entry(2), content="titles"))
    html = html_of(letter)
    assert "It rains" not in html.partition("<body")[2].partition('class="letter"')[2]
    assert "pier.jpg" not in html
    assert "Post 1</a>" in html
    assert 'class="contents"' not in html
    assert "Continue reading" not in html


@pytest.mark.parametrize("content", ["excerpt", "titles"])
def test_a_post_that_is_nowhere_else_is_sent_in_full(content: str) -> None:
    letter = render_issue(facts(entry(1, content=LONG, link=""), archive_url="", content=content))
    assert html_of(letter).count("It rains on the harbour again today.") >= 40


def test_a_logo_needs_no_band() -> None:
    theme = ThemeFacts(style="bold", logo_url="https://blog.example/logo.png")
    assert 'class="band"' not in render_issue(one(entry(), theme=theme)).html


def test_a_full_post_says_where_it_was_published() -> None:
    html = html_of(render_issue(one(entry(link="https://www.blog.example/1"))))
    assert "Read on blog.example" in html
    assert "Read on the web" in html_of(render_issue(one(entry(link="http://127.0.0.1:8000/1"))))


def test_the_foot_invites_to_answer_and_to_subscribe_where_that_leads_somewhere() -> None:
    plain = html_of(render_issue(one(entry())))
    assert "reply to this email" not in plain
    assert "forward this to you" not in plain
    page = "https://letters.example/s/valley/"
    full = html_of(render_issue(one(entry(), takes_replies=True, sign_up_url=page)))
    assert "Just reply to this email." in full
    assert f'<a href="{page}"' in full
    foot = full.partition('class="foot"')[2]
    assert foot.index("Unsubscribe") < foot.index("Manage your subscription") < foot.index("Past issues")


class Sizes(HTMLParser):
    """Collects the font sizes of the masthead and of titles."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: dict[str, int] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        name, style = values.get("class") or "", values.get("style") or ""
        if name in ("name", "title") and "font-size: " in style:
            size = int(style.partition("font-size: ")[2].partition("px")[0])
            self.sizes[name] = max(size, self.sizes.get(name, 0))


@pytest.mark.parametrize("style", ["serif", "sans", "bold"])
@pytest.mark.parametrize("count", [1, 3])
def test_the_publications_name_is_larger_than_any_title(style: str, count: int) -> None:
    letter = render_issue(facts(*(entry(n) for n in range(1, count + 1)), theme=ThemeFacts(style=style)))
    parser = Sizes()
    parser.feed(letter.html)
    assert parser.sizes["name"] > parser.sizes["title"]


@pytest.mark.parametrize("style", ["serif", "sans", "bold"])
@pytest.mark.parametrize("content", ["full", "excerpt", "titles"])
def test_its_html_is_valid(style: str, content: str) -> None:
    theme = ThemeFacts(style=style, header="Hello", footer="Bye", postal_address="Pier 1")
    letter = render_issue(facts(entry(1, content=PICTURE + LONG), entry(2), content=content, theme=theme))
    parser = html5lib.HTMLParser(strict=True)
    parser.parse(letter.html)
