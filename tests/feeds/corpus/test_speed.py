"""Documents that cost a careless parser minutes. None may cost more than 1.5 seconds."""

import contextlib
import time
from collections.abc import Callable

import pytest
from _pytest.mark import ParameterSet

from feeds.parsing.document import parse
from feeds.parsing.entry import ParseError
from tests.examples import some_now
from tests.feeds.corpus.documents import URL

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


def rss(inside: bytes, *, before: bytes = b"", channel: bytes = b"", attributes: bytes = NAMESPACES) -> bytes:
    start = before + b'<rss version="2.0"' + attributes + b"><channel>" + channel
    return start + b"<item><guid>1</guid>" + inside + b"</item></channel></rss>"


def numbered(form: bytes, count: int) -> bytes:
    return b"".join(form % number for number in range(count))


def slow(name: str, write: Callable[[], bytes], reason: str = "") -> ParameterSet:
    """Mark a document that is known to be slow for that reason; all of them take a minute."""
    marks = [pytest.mark.xfail(reason=reason, strict=True), pytest.mark.slow] if reason else []
    return pytest.param(write, id=name, marks=marks)


DOCUMENTS = [
    slow("lines before the root", lambda: rss(b"", before=PROLOG + b"\n" * 30_000)),
    slow("a comment of lines", lambda: rss(b"", before=PROLOG + b"<!--" + b"\n" * 30_000 + b"-->")),
    slow("a doctype of lines", lambda: rss(b"", before=PROLOG + b"<!DOCTYPE rss " + b"\n" * 30_000 + b">")),
    slow("a declaration of encodings", lambda: rss(b"", before=b"<?xml " + b"encoding='" * 1_300 + b" ?")),
    slow("a long author", lambda: rss(b"<author>" + b"a" * 30_000 + b"</author>")),
    slow(
        "a long editor", lambda: rss(b"", channel=b"<managingEditor>" + b"a" * 30_000 + b"</managingEditor>")
    ),
    slow("many keywords", lambda: rss(b"<media:keywords>" + numbered(b"%x,", 14_000) + b"</media:keywords>")),
    slow("many categories", lambda: rss(numbered(b"<category>%x</category>", 16_000))),
    slow("many attributes", lambda: rss(b"<a " + numbered(b"a%d='' ", 20_000) + b"/>")),
    slow("one xml:base within the other", lambda: rss(b'<a xml:base="a/">' * 12_000, attributes=BASE + b'"')),
    slow(
        "a long xml:base for many links",
        lambda: rss(b"<link>b</link>" * 2_000, attributes=BASE + b"a/" * 16_000 + b'"'),
    ),
    slow("punycode as an encoding", lambda: rss(b"-a9b" * 50_000, before=PUNYCODE) + b"-" + b"a" * 200_000),
    slow("tags that begin only", lambda: rss(CROSSED + b"<a " * 30_000)),
    slow("less-than signs", lambda: rss(CROSSED + b"<" * 100_000)),
    slow("ampersands", lambda: rss(CROSSED + b"&" * 100_000)),
    slow("comments never closed", lambda: rss(CROSSED + b"<!--" * 25_000)),
    slow("CDATA never closed", lambda: rss(CROSSED + b"<![CDATA[" * 10_000)),
    slow("elements never closed", lambda: rss(CROSSED + b"<a>" * 30_000)),
    slow("one element within the other", lambda: rss(b"<a>" * 30_000 + b"</a>" * 30_000)),
    slow("many namespaces", lambda: rss(numbered(b"<n:a xmlns:n='u:%d'/>", 5_000))),
    slow("titles of half comments", lambda: rss(b"<title><![CDATA[" + b"<!--" * 25_000 + b"]]></title>")),
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
