"""A newsletter shows its posts in full, as excerpts with a picture, or as titles.

Letters under the budget keep every word of each post; longer posts end at a block's end.
"""

import re
from html import escape
from html.parser import HTMLParser

import html5lib  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from common.html.balance import balance
from common.html.clean import clean, plain
from common.text import words
from delivery.rendering.facts import ThemeFacts
from delivery.rendering.issue import render_issue
from delivery.rendering.posts import letter_html
from delivery.rendering.shortening import shorten
from tests.delivery.rendering.samples import entry, facts, html_of, one, text_of

BASE = "https://blog.example/1"
INLINE = words("a b em span code sup q small abbr mark")
BLOCKS = words(
    "p div ul ol li blockquote pre h2 h4 table tr td th dl dt dd figure figcaption details section center"
)
WORD = re.compile(r"w\d+e")
ANY_TAG = re.compile(r"<[^<>]*>")
text = st.sampled_from(["w ", "w", "w w. ", "Is w? ", "<br>", "<hr>", "&amp; w", "w &lt; w", "<!-- w -->"])
image = st.sampled_from(
    ['<img src="/a.jpg">', '<p><img src="/b.png"></p>', '<img src="/c.gif" alt="w" width="900">']
)
tree = st.recursive(
    text | image,
    lambda inside: st.builds(
        lambda name, parts, closed: f"<{name}>{''.join(parts)}" + (f"</{name}>" if closed else ""),
        st.sampled_from(sorted(BLOCKS | INLINE)),
        st.lists(inside, max_size=5),
        st.sampled_from([True, True, True, False]),
    ),
    max_leaves=25,
)
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
    for number, shown_words in ((2, "Saw a heron at the weir."), (4, "Untitled post"), (5, "Post 5")):
        assert re.search(rf'<a href="https://blog.example/{number}"[^>]*>{shown_words}</a>', html)
        assert f"- {shown_words}\n  https://blog.example/{number}\n" in text


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


def told_apart(html: str) -> str:
    """Number each `w`, except in comments."""
    html, count = re.sub(r"<!--.*?-->", "", html), 0
    while re.search(r"\bw\b", html):
        html = re.sub(r"\bw\b", f"w{count}e", html, count=1)
        count += 1
    return html


def words_in(text: str) -> list[str]:
    return sorted(set(WORD.findall(text)))


@example('<p>w</p><p><img src="https://x.example/a.jpg"></p><p>w, which matters.</p>')
@example("<table><tr><td>w<td>w</table>")
@given(tree)
def test_a_letter_under_its_budget_holds_every_word_of_its_post(html: str) -> None:
    content = clean(told_apart(html), base=BASE)
    letter = render_issue(one(entry(content=content)))
    wanted = words_in(plain_of(content))
    assert words_in(plain_of(html_of(letter))) == wanted
    assert words_in(text_of(letter)) == wanted


@settings(max_examples=25)
@given(st.lists(tree, min_size=2, max_size=6))
def test_so_does_a_digest_whichever_post_is_the_longest(htmls: list[str]) -> None:
    contents = [
        clean(told_apart(html).replace("e", f"{number}e"), base=BASE) for number, html in enumerate(htmls)
    ]
    entries = [entry(number, content=content) for number, content in enumerate(contents, 1)]
    letter = render_issue(facts(*entries))
    wanted = words_in(plain_of("".join(contents)))
    assert words_in(plain_of(html_of(letter))) == wanted
    assert words_in(text_of(letter)) == wanted


def plain_of(html: str) -> str:
    """Return the visible words, including the alternative texts of pictures."""
    alts = " ".join(re.findall(r'alt="([^"]*)"', html))
    return " ".join(plain(piece) for piece in re.split(r"(?=<)", html)) + " " + alts


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(tree, min_size=1, max_size=8), st.integers(30, 2_000))
def test_what_is_cut_is_a_beginning_no_longer_than_its_share_and_closed(parts: list[str], size: int) -> None:
    whole = letter_html(entry(content=clean(told_apart("".join(parts * 4)), base=BASE)))
    cut = shorten(whole, size)
    assert len(cut) <= max(size, len("<p></p>") + 5 * size if cut.count("<") == 2 else size)
    assert balance(cut) == cut
    kept = WORD.findall(ANY_TAG.sub("", cut))
    assert kept == WORD.findall(ANY_TAG.sub("", whole))[: len(kept)]


@given(st.lists(st.integers(1, 20), min_size=2, max_size=60), st.integers(150, 3_000))
def test_what_is_over_its_budget_ends_at_a_blocks_end(lengths: list[int], size: int) -> None:
    """Where each block is shorter than two thirds of the share."""
    blocks = [f"<p>{' '.join(['rain'] * min(length, size // 12))}.</p>" for length in lengths]
    cut = shorten("".join(blocks), size)
    assert cut == "".join(blocks[: cut.count("<p>")])
    left = blocks[cut.count("<p>") :]
    assert not left or len(cut) + len(left[0]) > size


def test_a_block_longer_than_its_share_ends_after_a_sentence_and_says_that_more_follows() -> None:
    html = "<p>" + "It rains on the river. " * 40 + "</p>"
    assert shorten(html, 200).endswith("It rains on the river. …</p>")
    assert shorten("<p>" + "rain on the river " * 40 + "</p>", 200).endswith(" rain on…</p>")
    assert shorten("<p>" + "雨が川に降る。" * 100 + "</p>", 200).endswith("雨が川に降る。 …</p>")


def test_a_cut_never_ends_with_a_heading() -> None:
    html = "<p>" + "Rain. " * 30 + "</p><h2>The river</h2><p>" + "Water. " * 100 + "</p>"
    assert shorten(html, 230).endswith("Rain. </p>")


def test_no_entity_is_cut_in_two() -> None:
    for size in range(40, 60):
        assert "&am…" not in shorten("<p>" + "&amp;" * 100 + "</p>", size)


def test_a_post_that_fits_the_letter_is_not_cut_for_a_smaller_budget() -> None:
    content = "".join(f"<p>{escape('Rain & more. ' * 20)}</p>" for _ in range(230))
    assert 60_000 < len(content) < 90_000
    letter = render_issue(one(entry(content=content)))
    assert "Continue reading" not in html_of(letter)
    assert len(html_of(letter).encode()) < 102_000
