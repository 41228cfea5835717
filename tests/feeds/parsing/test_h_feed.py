"""A web page that is its own feed."""

import contextlib
import socket
import time
from typing import Any

import pytest

from feeds.parsing.document import parse
from feeds.parsing.entry import Channel, Entry, Media, ParsedFeed, ParseError
from tests.examples import some_now

URL = "https://ada.example/notes"
HOSTILE = {
    "microformats in microformats": '<div class="h-entry p-author u-author h-card e-content">' * 15_000,
    "content in content": '<div class="h-entry"><div class="e-content">' * 15_000,
    "formatting never closed": "".join(f"<p><b x={number}>t</p>" for number in range(30_000)),
    "less-than signs": "<" * 900_000,
    "line breaks": "<br>" * 200_000,
    "classes": f"<p class='{' '.join(f'h-x{number} p-y{number}' for number in range(50_000))}'>",
    "classic ones": "<div class='hentry vcard hreview'>" * 20_000,
}


def page(inside: str, head: str = "") -> bytes:
    top = f"<!doctype html><html lang=en><head><title>Ada &amp; Co</title>{head}</head>"
    return f"{top}<body>{inside}</body></html>".encode()


def read(body: bytes, **more: Any) -> ParsedFeed:
    return parse(body, content_type="text/html", url=URL, **more)


def only(entry: str) -> Entry:
    (found,) = read(page(f'<div class="h-feed"><article class="h-entry">{entry}</article></div>')).entries
    return found


def refusal(body: bytes) -> str:
    with pytest.raises(ParseError) as caught:
        read(body)
    return str(caught.value)


def test_every_field_of_an_entry_is_read() -> None:
    entry = only("""
        <h2 class="p-name"><a class="u-url u-uid" href="/1">One &amp; two</a></h2>
        <p class="p-summary">Short &lt;</p>
        <div class="e-content" lang="de"><p>Long <a href="more">x</a><img src="a.png" alt="A"></p></div>
        <time class="dt-published" datetime="2026-05-04 09:00+0200">Monday</time>
        <time class="dt-updated" datetime="2026-05-05T09:00:00Z">Tuesday</time>
        <a class="p-author h-card" href="/">Ada</a> <span class="p-author">Grace</span>
        <a class="p-category">Tea</a><img class="u-featured" src="f.png">
        <img class="u-photo" src="p.jpg" alt="A pic">
        <video class="u-video" src="v.mp4"></video><audio class="u-audio" src="a.mp3"></audio>""")
    assert (entry.guid, entry.link) == ("https://ada.example/1", "https://ada.example/1")
    assert (entry.title, entry.summary) == ("One & two", "<p>Short &lt;</p>")
    assert '<a href="https://ada.example/more">' in entry.content
    assert 'src="https://ada.example/a.png"' in entry.content
    assert [str(date)[:16] for date in (entry.published, entry.updated)] == [
        "2026-05-04 07:00",
        "2026-05-05 09:00",
    ]
    assert (entry.authors, entry.categories, entry.language) == (("Ada", "Grace"), ("Tea",), "de")
    assert entry.media == (
        Media("https://ada.example/p.jpg", "image", None, "A pic"),
        Media("https://ada.example/f.png", "image"),
        Media("https://ada.example/v.mp4", "video"),
        Media("https://ada.example/a.mp3", "audio"),
    )
    assert (entry.image, entry.base) == ("https://ada.example/f.png", URL)


def test_the_page_says_what_the_feed_is() -> None:
    head = '<base href="https://base.example/x/"><link rel=hub href=/hub><link rel=self href=me>'
    feed = read(
        page('<main class="h-feed"><h1 class="p-name">Notes</h1><a class="u-url" href="/"></a></main>', head)
    )
    assert (feed.title, feed.link, feed.language) == ("Notes", "https://base.example/", "en")
    assert feed.channel == Channel(hubs=("https://base.example/hub",), topic="https://base.example/x/me")


def test_without_a_name_it_is_called_as_the_page_is() -> None:
    feed = read(page('<div class="h-entry"><a class="u-url" href="/1">One</a></div>'))
    assert (feed.title, feed.link, feed.guids) == ("Ada & Co", URL, ("https://ada.example/1",))


def test_a_note_has_no_title() -> None:
    for note in ('<p class="p-name e-content">Hello there</p>', '<p class="e-content">Hello there</p>'):
        assert (only(note + '<a class="u-url" href="/1">1</a>').title) == ""
    cut = '<b class="p-name">Hello…</b><p class="e-content">Hello there</p>'
    assert only(cut + '<a class="u-url" href="/1">1</a>').title == ""


def test_a_title_within_the_content_is_one() -> None:
    entry = only(
        '<a class="u-url" href="/1">1</a>'
        '<div class="e-content"><h1 class="p-name">Hello</h1><p>there</p></div>'
    )
    assert entry.title == "Hello"


def test_the_entries_of_the_first_feed_count_and_their_own_microformats_do_not() -> None:
    feed = read(
        page(
            '<div class="h-entry"><a class="u-url" href="/0">0</a></div>'
            '<div class="h-feed"><div class="h-entry"><a class="u-url" href="/1">1</a>'
            '<div class="h-entry"><a class="u-url" href="/quoted">q</a></div></div></div>'
            '<div class="h-feed"><div class="h-entry"><a class="u-url" href="/2">2</a></div></div>'
        )
    )
    assert feed.guids == ("https://ada.example/1",)


def test_entries_without_a_feed_around_them_are_a_feed() -> None:
    feed = read(
        page("".join(f'<p class="h-entry"><a class="u-url" href="/{n}">{n}</a></p>' for n in range(5))),
        limit=2,
    )
    assert (len(feed.guids), len(feed.entries)) == (5, 2)


def test_an_entry_without_address_is_known_by_title_and_date() -> None:
    item = '<b class="p-name">One</b><time class="dt-published" datetime="2026-05-04">x</time>'
    assert only(item).guid == only(item).guid
    assert only(item).guid.startswith("feedletter-synthetic:sha256:")


@pytest.mark.parametrize(
    "inside",
    [
        "<p>Nothing</p>",
        "<p>They write h-entry in their classes.</p>",
        '<p class="hentry"><a rel="bookmark" href="/1">Classic</a></p>',
        '<p class="h-entry">No address</p>',
        '<p class="h-card"><a class="u-url" href="/">h-feed</a></p>',
    ],
)
def test_any_other_page_is_refused_as_a_page(inside: str) -> None:
    assert refusal(page(inside)).startswith("This address is a web page, not a feed.")


def test_an_empty_feed_is_a_feed() -> None:
    assert read(page('<div class="h-feed"></div>')).guids == ()


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a page is read without the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    head = (
        '<base href="http://127.0.0.1:9/"><link rel="stylesheet" href="/a.css"><script src="/b.js"></script>'
    )
    inside = '<div class="h-entry"><a class="u-url" href="/1">1</a><img class="u-photo" src="http://127.0.0.1:9/"></div>'
    assert read(page(inside, head)).guids == ("http://127.0.0.1:9/1",)
    assert refusal(b'<html class="h-entry">').startswith("This address is a web page")


@pytest.mark.parametrize("name", some_now(HOSTILE))
def test_a_hostile_page_costs_seconds_at_most(name: str) -> None:
    before = time.process_time()
    with contextlib.suppress(ParseError):
        read(page(f'<div class="h-feed">{HOSTILE[name]}'))
    assert time.process_time() - before < 5


@pytest.mark.parametrize(
    "card",
    [
        '<a class="h-card" href="https://ada.example/">Ada</a>',
        '<div class="h-card"><span class="p-name">Ada</span><a class="u-url" href="/">x</a></div>',
        '<footer><p><a class="h-card p-name u-url u-uid" href="/">Ada</a></p></footer>',
    ],
)
def test_an_author_who_is_an_address_has_the_name_of_the_card_there(card: str) -> None:
    entry = (
        '<article class="h-entry"><a class="u-author" href="/"></a><a class="u-url" href="/1">x</a></article>'
    )
    (found,) = read(page(f'<div class="h-feed">{entry}</div>{card}')).entries
    assert found.authors == ("Ada",)


def test_an_author_whose_card_is_elsewhere_stays_an_address() -> None:
    assert only('<a class="u-author" href="https://b.example/"></a>x').authors == ("https://b.example/",)
