"""Foreign texts cost time in proportion to their length, wherever they are read."""

import contextlib
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from channels.http.links import holds
from common.html.balance import balance
from common.html.clean import bounded, clean, plain
from common.html.plain_text import to_text
from common.mail.parts import Unreadable
from delivery.bounces.parsing import read_report
from delivery.rendering.posts import for_letter
from feeds.parsing.discovery import decoded, links_of_header, read_page
from feeds.parsing.document import parse
from feeds.parsing.entry import Entry, ParseError
from feeds.parsing.format import form_of
from feeds.parsing.identity import content_hash, untracked
from feeds.parsing.opml import parse_opml
from subscriptions.rules.post_rules import visible
from tests.examples import NIGHTLY

URL = "https://blog.example.org/posts/one"
NOW = datetime(2026, 5, 1, tzinfo=UTC)
# Texts that a pattern may start to match again and again.
BRICKS = (
    "<!--",
    "<!",
    "<script ",
    "<script>",
    "</script ",
    "<style ",
    "<![CDATA[",
    "<a ",
    '<a href="',
    "<a b='",
    "<img ",
    '<img alt="<img ',
    "<picture>",
    "<video>",
    "<object>",
    "<iframe>",
    "<table>",
    "<?xml ",
    "&",
    "&#",
    "&amp;",
    "?a&",
    "utm_a=&",
    " ",
    "\n",
    "\t/",
    "a@",
    "https://a/",
    "<",
    ">",
    '"',
    "{",
    "[",
    ";",
    "= ",
)
# Titles are cut at 10,000.
SHORT = 5_000
# Difference of two identical runs on a busy machine.
SLACK = 0.02


def document(text: str) -> None:
    with contextlib.suppress(ParseError):
        parse(text.encode(), content_type="", url=URL)


def rss(inside: str) -> None:
    document(f'<rss version="2.0"><channel><item><guid>1</guid>{inside}</item></channel></rss>')


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def beginning(text: str) -> None:
    with contextlib.suppress(ParseError):
        form_of(text.encode())


def report(text: str) -> None:
    with contextlib.suppress(Unreadable):
        read_report(text.encode())


def page(text: str) -> None:
    read_page(decoded(text.encode()), URL)


def opml(text: str) -> None:
    with contextlib.suppress(ValueError, ParseError):
        parse_opml(f"<opml><body>{text}</body></opml>".encode())


READERS: dict[str, Callable[[str], object]] = {
    "titles": lambda text: [plain(text) for _ in range(20)],
    "the text of html": to_text,
    "clean html": lambda text: clean(text, base=URL),
    "clean html in an attribute": lambda text: clean(f"<p title='{text}'>a</p>", base=URL),
    "balanced html": balance,
    "bounded html": lambda text: bounded(text + ";base64,", len(text) // 2),
    "html for a letter": lambda text: for_letter(clean(text, base=URL), page=URL),
    "what a post rule sees": lambda text: visible(clean(text, base=URL)),
    "the digest of a post": lambda text: content_hash(Entry("1", content=text, title=text, link=text)),
    "an address without tracking": untracked,
    "a Link header": links_of_header,
    "a page with feeds": page,
    "a page with posts": lambda text: document(f"<html><body class=h-entry><p class=e-content>{text}"),
    "the beginning of a document": beginning,
    "a document": document,
    "a title in a feed": lambda text: rss(f"<title>{escaped(text)}</title>"),
    "a post's html": lambda text: rss(f"<description>{escaped(text)}</description>"),
    "an author": lambda text: rss(f"<author>{escaped(text)}</author>"),
    "a date": lambda text: rss(f"<pubDate>{escaped(text)}</pubDate>"),
    "what is broken in a feed": lambda text: rss(f"<title>x</b>{text}</title>"),
    "a post in JSON": lambda text: document(
        json.dumps(
            {"version": "https://jsonfeed.org/version/1.1", "items": [{"id": 1, "content_html": text}]}
        )
    ),
    "a list of feeds": opml,
    "a status of an instance": lambda text: holds(text, URL),
    "the headers of a report": lambda text: report(f"Subject: {text}\nFrom: {text}\n\nx"),
    "the text of a report": lambda text: report(f"From: a@b.example\n\n{text}"),
}


def seconds(reader: Callable[[str], object], text: str) -> float:
    """Return the processor time of this thread, best of three, as the machine is shared."""
    best = 1e9
    for _ in range(3):
        before = time.thread_time()
        reader(text)
        best = min(best, time.thread_time() - before)
    return best


@NIGHTLY
@pytest.mark.parametrize("name", READERS)
def test_twice_the_text_costs_about_twice_as_much(name: str) -> None:
    reader = READERS[name]
    dear = []
    for brick in BRICKS:
        text = brick * (SHORT // len(brick))
        once, twice = seconds(reader, text), seconds(reader, text * 2)
        if twice > 3 * once + SLACK:
            dear.append((brick, once, twice))
    assert dear == []
