"""Every odd document is parsed as its index says (see tests/fixtures/feeds/odd/README.md).

Generated documents that are too large to store.
Documents that cost a careless parser minutes. None may cost more than 1.5 seconds.
"""

import contextlib
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from _pytest.mark import ParameterSet

from feeds.parsing.document import parse
from feeds.parsing.entry import ParsedFeed, ParseError
from tests.examples import some_now
from tests.feeds.corpus.differences import FEED_KEYS, OTHER_KEYS, differences
from tests.feeds.corpus.documents import URL, Document, documents, files
from tests.servers.documents import atom, rss

SECONDS = 5.0
NAMESPACES = (
    b' xmlns:media="http://search.yahoo.com/mrss/" xmlns:content="http://purl.org/rss/1.0/modules/content/"'
)
PROLOG = b'<?xml version="1.0"?>'
# Not well-formed, so that the lenient parser reads it.
CROSSED = b"<title>x</b></title>"
BASE = b' xml:base="http://a.example/'
PUNYCODE = b'<?xml version="1.0" encoding="punycode"?>'
PAGE = b"<html><body class='h-entry'>"
FIRST = datetime(2026, 1, 1, tzinfo=UTC)
THOUSAND = [
    {"guid": f"g{n}", "title": f"Post {n}", "published": FIRST + timedelta(hours=n)} for n in range(1_000)
]


def parameter(document: Document) -> ParameterSet:
    reason = document.expected.get("xfail")
    marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
    return pytest.param(document, id=document.name, marks=marks)


def read(document: Document) -> ParsedFeed | ParseError:
    try:
        return parse(document.body, content_type=document.content_type, url=URL)
    except ParseError as error:
        return error


@pytest.mark.parametrize("document", [parameter(document) for document in documents()])
def test_it_comes_out_as_described(document: Document) -> None:
    found, expected = read(document), document.expected
    if "never" in expected:
        assert expected["never"] not in repr(found)
    if "error" in expected:
        assert isinstance(found, ParseError), f"read as {found}"
        assert expected["error"] in str(found)
    elif not isinstance(found, ParseError):
        assert differences(found, expected) == []
    else:
        assert set(expected) <= OTHER_KEYS - {"xfail"}, f"refused: {found}"


def test_every_document_is_described_and_every_description_has_its_document() -> None:
    assert sorted(document.name for document in documents()) == files()


def test_every_description_says_what_is_odd_and_what_must_come_out() -> None:
    for document in documents():
        assert str(document.expected.get("odd", "")).endswith("."), document.name
        assert set(document.expected) <= FEED_KEYS | OTHER_KEYS, document.name
        assert set(document.expected) & (FEED_KEYS | {"error", "never"}), document.name


def test_there_are_at_least_sixty_documents_and_hardly_any_is_long() -> None:
    assert len(documents()) >= 60
    assert [document.name for document in documents() if len(document.body) > 10_000] == []


def test_no_refusal_is_longer_than_two_sentences_or_shows_the_inside_of_the_program() -> None:
    refusals = [str(found) for found in map(read, documents()) if isinstance(found, ParseError)]
    assert refusals
    for text in refusals:
        assert text.endswith(".")
        assert text.count(". ") <= 2
        assert not any(word in text for word in ("Traceback", "Exception", "object at 0x", "feedparser"))


def parsed(body: bytes) -> ParsedFeed:
    return parse(body, content_type="", url=URL)


def jsonfeed() -> bytes:
    items = [{"id": item["guid"], "date_published": str(item["published"])} for item in THOUSAND]
    return json.dumps(
        {"version": "https://jsonfeed.org/version/1.1", "title": "Long", "items": items}
    ).encode()


@pytest.mark.parametrize("body", [rss(THOUSAND), atom(THOUSAND), jsonfeed()], ids=["rss", "atom", "json"])
def test_of_a_thousand_posts_all_guids_are_known_and_the_newest_are_read(body: bytes) -> None:
    feed = parsed(body)
    assert feed.guids == tuple(f"g{n}" for n in range(1_000))
    assert [entry.guid for entry in feed.entries] == [f"g{n}" for n in range(500, 1_000)]
    assert len(feed.warnings) == 1
    assert "1000 posts" in feed.warnings[0].replace(",", "")


def test_content_ten_thousand_elements_deep_is_read() -> None:
    content = "<div>" * 10_000 + "bottom" + "</div>" * 10_000
    (entry,) = parsed(rss([{"guid": "1", "content": content}])).entries
    assert "bottom" in entry.content


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_json_a_hundred_thousand_deep_is_refused(opening: str) -> None:
    with pytest.raises(ParseError, match="JSON"):
        parsed(f'{{"version": "https://jsonfeed.org/version/1", "x": {opening * 100_000}'.encode())


def test_a_number_of_a_hundred_thousand_digits_is_no_obstacle() -> None:
    body = (
        b'{"version": "https://jsonfeed.org/version/1", "items": [{"id": "1", "size": '
        + b"9" * 100_000
        + b"}]}"
    )
    assert parsed(body).guids == ("1",)


def rss_around(
    inside: bytes, *, before: bytes = b"", channel: bytes = b"", attributes: bytes = NAMESPACES
) -> bytes:
    start = before + b'<rss version="2.0"' + attributes + b"><channel>" + channel
    return start + b"<item><guid>1</guid>" + inside + b"</item></channel></rss>"


def numbered(form: bytes, count: int) -> bytes:
    return b"".join(form % number for number in range(count))


def slow(name: str, write: Callable[[], bytes], reason: str = "") -> ParameterSet:
    """Mark a document that is known to be slow for that reason; all of them take a minute."""
    marks = [pytest.mark.xfail(reason=reason, strict=True), pytest.mark.slow] if reason else []
    return pytest.param(write, id=name, marks=marks)


DOCUMENTS = [
    slow("lines before the root", lambda: rss_around(b"", before=PROLOG + b"\n" * 30_000)),
    slow("a comment of lines", lambda: rss_around(b"", before=PROLOG + b"<!--" + b"\n" * 30_000 + b"-->")),
    slow(
        "a doctype of lines",
        lambda: rss_around(b"", before=PROLOG + b"<!DOCTYPE rss " + b"\n" * 30_000 + b">"),
    ),
    slow(
        "a declaration of encodings",
        lambda: rss_around(b"", before=b"<?xml " + b"encoding='" * 1_300 + b" ?"),
    ),
    slow("a long author", lambda: rss_around(b"<author>" + b"a" * 30_000 + b"</author>")),
    slow(
        "a long editor",
        lambda: rss_around(b"", channel=b"<managingEditor>" + b"a" * 30_000 + b"</managingEditor>"),
    ),
    slow(
        "many keywords",
        lambda: rss_around(b"<media:keywords>" + numbered(b"%x,", 14_000) + b"</media:keywords>"),
    ),
    slow("many categories", lambda: rss_around(numbered(b"<category>%x</category>", 16_000))),
    slow("many attributes", lambda: rss_around(b"<a " + numbered(b"a%d='' ", 20_000) + b"/>")),
    slow(
        "one xml:base within the other",
        lambda: rss_around(b'<a xml:base="a/">' * 12_000, attributes=BASE + b'"'),
    ),
    slow(
        "a long xml:base for many links",
        lambda: rss_around(b"<link>b</link>" * 2_000, attributes=BASE + b"a/" * 16_000 + b'"'),
    ),
    slow(
        "punycode as an encoding",
        lambda: rss_around(b"-a9b" * 50_000, before=PUNYCODE) + b"-" + b"a" * 200_000,
    ),
    slow("tags that begin only", lambda: rss_around(CROSSED + b"<a " * 30_000)),
    slow("less-than signs", lambda: rss_around(CROSSED + b"<" * 100_000)),
    slow("ampersands", lambda: rss_around(CROSSED + b"&" * 100_000)),
    slow("comments never closed", lambda: rss_around(CROSSED + b"<!--" * 25_000)),
    slow("CDATA never closed", lambda: rss_around(CROSSED + b"<![CDATA[" * 10_000)),
    slow("elements never closed", lambda: rss_around(CROSSED + b"<a>" * 30_000)),
    slow("one element within the other", lambda: rss_around(b"<a>" * 30_000 + b"</a>" * 30_000)),
    slow("many namespaces", lambda: rss_around(numbered(b"<n:a xmlns:n='u:%d'/>", 5_000))),
    slow(
        "titles of half comments", lambda: rss_around(b"<title><![CDATA[" + b"<!--" * 25_000 + b"]]></title>")
    ),
    slow(
        "brackets in brackets of JSON",
        lambda: b'{"version": "https://jsonfeed.org/version/1", "a": ' + b"[" * 99_000,
    ),
    slow("elements of a page", lambda: PAGE + b"<b>" * 30_000),
    slow("tables in tables of a page", lambda: PAGE + b"<table>" * 14_000),
    slow("less-than signs in a page", lambda: PAGE + b"<" * 200_000),
]


@pytest.mark.parametrize("write", some_now(DOCUMENTS))
def test_it_is_read_or_refused_at_once(write: Callable[[], bytes]) -> None:
    body = write()
    before = time.thread_time()
    with contextlib.suppress(ParseError):
        parse(body, content_type="", url=URL)
    assert time.thread_time() - before < SECONDS
