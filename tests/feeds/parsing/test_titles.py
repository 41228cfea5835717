"""Titles and names of every format keep all of their words."""

import json
from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.html.titles import plain_title
from common.text import one_line
from feeds.parsing.document import parse
from feeds.parsing.entry import ParsedFeed
from tests.servers.documents import atom

URL = "https://blog.example/feed"
# feedparser repairs text that was encoded twice, which Latin-1 characters can look like.
TITLES = st.text(
    alphabet=st.characters(
        exclude_categories=["Cc", "Cs", "Zs", "Zl", "Zp"], exclude_characters="\ufffe\uffff"
    ),
    min_size=1,
    max_size=40,
).filter(lambda text: not any("\x80" <= char <= "\xff" for char in text))
RSS = "<rss version='2.0'><channel><title>{0}</title><item><guid>1</guid>{1}</item></channel></rss>"
ATOM = (
    "<feed xmlns='http://www.w3.org/2005/Atom'><id>f</id><title>f</title>"
    "<entry><id>1</id>{}<updated>2026-11-03T01:00:00Z</updated></entry></feed>"
)


def read(document: str) -> ParsedFeed:
    return parse(document.encode(), content_type="", url=URL)


def title_of(document: str) -> str:
    (entry,) = read(document).entries
    return entry.title


@given(TITLES)
def test_a_title_escaped_once_is_that_text(text: str) -> None:
    written = escape(text)
    literal = one_line(text)
    # In RSS "&lt;b&gt;" may be meant as markup, and "&amp;amp;" as an ampersand.
    assert title_of(RSS.format("f", f"<title>{written}</title>")) == plain_title(text)
    assert title_of(RSS.format("f", f"<title>{escape(written)}</title>")) == literal
    assert title_of(ATOM.format(f"<title>{written}</title>")) == literal
    assert title_of(ATOM.format(f"<title type='html'>{escape(written)}</title>")) == literal
    xhtml = f"<title type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'>{written}</div></title>"
    assert title_of(ATOM.format(xhtml)) == literal
    items = [{"id": "1", "title": text, "content_text": "x"}]
    feed = {"version": "https://jsonfeed.org/version/1.1", "title": "f", "items": items}
    assert title_of(json.dumps(feed)) == literal


@pytest.mark.parametrize("broken", ["", "<item><title>R&D</title>"])
def test_a_title_of_rss_keeps_what_is_no_markup(broken: str) -> None:
    """Also if the document is not well-formed, and another parser reads it."""
    titles = {
        "The &lt;dialog&gt; element": "The <dialog> element",
        "<![CDATA[Using List<String> in <i>Java</i>]]>": "Using List<String> in Java",
        "AT&amp;amp;T &amp;lt;video&amp;gt; twice": "AT&T <video> twice",
        "How <b>bold</b> is List&lt;String&gt;": "How bold is List<String>",
    }
    for written, title in titles.items():
        document = RSS.format("The &lt;nav&gt; blog", f"<title>{written}</title></item>{broken}<item>")
        feed = read(document)
        assert (feed.title, feed.entries[0].title) == ("The <nav> blog", title)


def test_html_titles_of_atom_are_html() -> None:
    assert title_of(ATOM.format("<title type='html'>&lt;p&gt;A &amp;amp; B&lt;/p&gt;</title>")) == "A & B"
    assert (
        title_of(ATOM.format("<title type='text'>&lt;b&gt;A&lt;/b&gt; &amp;amp;</title>")) == "<b>A</b> &amp;"
    )


def test_names_and_categories_keep_their_words() -> None:
    (entry,) = read(
        RSS.format("f", "<author>&lt;Ada&gt;</author><category>C++ &lt;vector&gt;</category>")
    ).entries
    assert (entry.authors, entry.categories) == (("<Ada>",), ("C++ <vector>",))


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("D&#39;accord &amp; plus", "D'accord & plus"),
        ("It&rsquo;s here", "It’s here"),
        ("a < b &amp; c", "a < b &amp; c"),
        ("?a=1&copy=2", "?a=1&copy=2"),
        ("\u200b\u2060", ""),
    ],
)
@pytest.mark.parametrize("kind", ["text", "html"])
def test_a_title_of_atom_that_was_escaped_too_often_is_decoded(title: str, shown: str, kind: str) -> None:
    written = escape(escape(title) if kind == "html" else title)
    body = atom([{"guid": "1", "extra": f'<title type="{kind}">{written}</title>'}])
    (entry,) = parse(body, content_type="", url="https://e.example/").entries
    assert entry.title == shown
