"""Plain text keeps its paragraphs and lines; HTML with escaped tags is HTML."""

import json
from html import escape, unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feeds.parsing.document import parse
from feeds.parsing.posts import markup, paragraphs, without_void_ends

WRAPPED = (
    "A line that a program has wrapped at its seventieth or so character,\n"
    "because mails and changelogs have looked like that for forty years now,\n"
    "and which goes on here."
)


def test_paragraphs_and_lines_of_text_stay() -> None:
    assert (
        paragraphs("a\nb\n\n c\r\nd\n \n\n\ne & <f>") == "<p>a<br>b</p><p>c<br>d</p><p>e &amp; &lt;f&gt;</p>"
    )
    assert paragraphs("") == ""


def test_lines_that_a_program_wrapped_are_joined() -> None:
    assert paragraphs(WRAPPED) == f"<p>{WRAPPED.replace(chr(10), ' ')}</p>"
    two = "The second of these two lines goes on with what the first began to\nsay, so they are one."
    assert paragraphs(two) == f"<p>{two.replace(chr(10), ' ')}</p>"


@pytest.mark.parametrize(
    "text",
    [
        "short line\nanother short line",
        "- a point of a list that is as long as a wrapped line would be, more or less\n- another",
        "The first line of these is as long as a wrapped one would be, and ends.\nSecond.",
        "The first line of these is as long as a wrapped one would be, and goes\n1:30 on with a mark",
        "so long that no program can have wrapped it, because it has more than eighty characters\nand on",
    ],
)
def test_lines_that_a_person_ended_are_not_joined(text: str) -> None:
    assert paragraphs(text) == f"<p>{text.replace(chr(10), '<br>')}</p>"


@given(st.text(alphabet="ab .-<&>\n", max_size=300))
def test_no_word_of_a_text_is_lost(text: str) -> None:
    html = paragraphs(text)
    seen = unescape(html.replace("<p>", " ").replace("</p>", " ").replace("<br>", " "))
    assert seen.split() == text.split()


def test_html_stays_as_it_is() -> None:
    for html in ("<p>a\nb</p>", "a<br>b\nc", "x <!-- y -->\nz", "one line &amp; no tag", "1 < 2"):
        assert markup(html, is_guess=True) == html
    assert markup("a\nb", is_guess=False) == "a\nb"


def test_a_text_without_html_keeps_what_looks_like_tags() -> None:
    assert (
        markup("List<String> & the <dialog> element", is_guess=True)
        == "List&lt;String> & the &lt;dialog> element"
    )


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("&lt;p&gt;A &amp;amp; B&lt;/p&gt;", "<p>A &amp; B</p>"),
        ("&#60;div&#62;\nA&lt;br/&gt;", "<div>\nA<br/>"),
        ("&lt;p&gt; begins a paragraph", "&lt;p&gt; begins a paragraph"),
        ("&lt;String&gt; is no tag &lt;/String&gt;", "&lt;String&gt; is no tag &lt;/String&gt;"),
        ("<pre>&lt;p&gt;x&lt;/p&gt;</pre>", "<pre>&lt;p&gt;x&lt;/p&gt;</pre>"),
    ],
)
def test_html_that_was_escaped_twice_is_decoded_where_it_is_all_there_is(text: str, html: str) -> None:
    assert markup(text, is_guess=True) == markup(text, is_guess=False) == html


def test_void_elements_have_no_end_tags() -> None:
    assert (
        without_void_ends("a<br></br>b<hr class='x'> </hr><img src='x'></img>")
        == "a<br>b<hr class='x'><img src='x'>"
    )
    assert markup("<p>a<br></br>b</p>", is_guess=False) == "<p>a<br>b</p>"


def test_every_format_says_in_its_own_way_what_is_text() -> None:
    text, html = "one\ntwo\n\n<b> three", "<p>one<br>two</p><p>&lt;b&gt; three</p>"
    for kind in ("", " type='text'", " type='text/plain'", " type='text/markdown'", " type='TEXT/x-org'"):
        assert _atom(f"<content{kind}>{escape(text)}</content>") == html
    assert _atom("<content type='html'>one\ntwo</content>") == "one\ntwo"
    assert _atom("<content type='text/html'>&lt;p&gt;x&lt;/p&gt;</content>") == "<p>x</p>"
    xhtml = "<x:div xmlns:x='http://www.w3.org/1999/xhtml'>a<x:br/>b</x:div>"
    assert _atom(f"<content type='xhtml'>{xhtml}</content>") == "a<br>b"
    assert _rss("<description>one\ntwo</description>") == "<p>one<br>two</p>"
    assert _rss("<description><![CDATA[<p>one\ntwo</p>]]></description>") == "<p>one\ntwo</p>"
    assert _json(content_text=text) == html
    assert _json(content_html=escape("<p>x</p>")) == "<p>x</p>"


def _html_of(document: str) -> str:
    (entry,) = parse(document.encode(), content_type="", url="https://blog.example/feed").entries
    return entry.html


def _rss(item: str) -> str:
    return _html_of(
        f"<rss version='2.0'><channel><title>t</title><item><guid>1</guid>{item}</item></channel></rss>"
    )


def _atom(content: str) -> str:
    return _html_of(
        "<feed xmlns='http://www.w3.org/2005/Atom'><id>f</id><title>f</title>"
        f"<entry><id>1</id><title>t</title>{content}</entry></feed>"
    )


def _json(**item: str) -> str:
    document = {"version": "https://jsonfeed.org/version/1.1", "items": [{"id": "1", **item}]}
    return _html_of(json.dumps(document))
