"""Feeds that a web page links to, in any form.

The Link header (RFC 8288).
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feeds.parsing.discovery import (
    MAX_ANCHORS,
    MAX_HEADER_LINKS,
    MAX_PAGE,
    MAX_PAGE_LINKS,
    decoded,
    format_of,
    is_comment_feed,
    links_of_header,
    looks_like_feed,
    read_page,
    well_known,
)
from feeds.parsing.format import is_page
from feeds.parsing.known_sites import guesses, handle_page, prefers_guesses
from tests.examples import some_now
from tests.servers.documents import atom, rss

HOME = "https://blog.example.org/posts/"
CHANNEL = "UCabcdefghijklmnopqrstuv"
VIDEOS = "https://www.youtube.com/feeds/videos.xml"


def links(html: str, url: str = HOME) -> list[str]:
    return [link.url for link in read_page(html, url).links]


@pytest.mark.parametrize(
    "html",
    [
        '<link rel="alternate" type="application/rss+xml" href="/feed">',
        '<link rel="alternate" type="application/atom+xml" href="/feed">',
        '<link rel="alternate" type="application/feed+json" href="/feed">',
        '<LINK REL="Alternate" TYPE="Application/RSS+XML" HREF="/feed">',
        '<link rel="alternate" type="application/rss+xml; charset=utf-8" href="/feed">',
        "<link rel=alternate type=application/rss+xml href=/feed>",
        "<link rel='alternate home' type='application/rss+xml' href='/feed'/>",
        '<link\n\trel="alternate"\n\ttype="application/rss+xml"\n\thref=" /feed ">',
        '<link href="../feed" type="application/rss+xml" rel="alternate">',
        '<link rel="alternate" type="application/rss+xml" href="&#47;feed">',
        '<link rel="feed" href="/feed">',
        '<link rel="feed" type="text/html" href="/feed">',
        '<link rel="alternate" href="/feed">',
        '<link rel="alternate" type="text/xml" href="/feed">',
        '<link rel="alternate" type="application/rss+xml" href="/feed#top">',
        '<meta content=\'a > b "\'><link rel="alternate" type="application/rss+xml" href="/feed">',
        '<p title="x"y><link rel="alternate" type="application/rss+xml" href="/feed">',
        '<base href="https://blog.example.org/"><link rel="feed" href="feed">',
        '<base href="/"><base href="/elsewhere/"><link rel="feed" href="feed">',
        '<link rel="feed" href="feed"><base href="/">',
    ],
)
def test_a_page_declares_its_feed_in_many_ways(html: str) -> None:
    assert links(html) == ["https://blog.example.org/feed"]


@pytest.mark.parametrize(
    "html",
    [
        '<link rel="stylesheet" href="/feed.css">',
        '<link rel="alternate stylesheet" type="application/rss+xml" href="/feed">',
        '<link rel="alternate" hreflang="de" href="/de/">',
        '<link rel="alternate" type="application/json+oembed" href="/wp-json/oembed?format=rss">',
        '<link rel="alternate" type="application/json" href="/wp-json/wp/v2/pages/2">',
        '<link rel="alternate" type="application/rss+xml">',
        '<link rel="alternate" type="application/rss+xml" href="">',
        '<link rel="alternate" type="application/rss+xml" href="javascript:alert(1)">',
        '<link rel="alternate" type="application/rss+xml" href="http://[">',
        '<link rel="feed" href="#">',
        '<link rel="feed" href="https://blog.example.org/posts/">',
        '<!-- <link rel="feed" href="/feed"> -->',
        '<!-- <link rel="feed" href="/feed">',
        '<script>document.write(\'<link rel="feed" href="/feed">\')</script>',
        '<template><link rel="feed" href="/feed"></template>',
        '<textarea><link rel="feed" href="/feed"></textarea>',
        '<script>"<link rel=feed href=/feed>"',
    ],
)
def test_what_is_no_declaration_is_passed_over(html: str) -> None:
    assert links(html) == []


def test_links_keep_the_order_of_the_page_and_stand_once() -> None:
    html = "".join(f'<link rel="feed" href="/{name}" title="The {name}">' for name in "bacab")
    assert [(link.url[-1], link.title) for link in read_page(html, HOME).links] == [
        ("b", "The b"),
        ("a", "The a"),
        ("c", "The c"),
    ]


def test_titles_are_one_line_of_text() -> None:
    html = '<title>Ada &amp;\n Bob</title><link rel="feed" href="/f" title="A &lt;b&gt;bold&lt;/b&gt; one">'
    page = read_page(html, HOME)
    assert (page.title, page.links[0].title) == ("Ada & Bob", "A bold one")


def test_at_most_fifty_links_of_a_page_of_1_mb_are_read() -> None:
    assert len(links("".join(f'<link rel="feed" href="/{n}">' for n in range(80)))) == MAX_PAGE_LINKS
    assert links(" " * MAX_PAGE + '<link rel="feed" href="/feed">') == []


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ('<a href="/index.xml">Follow</a>', ["https://blog.example.org/index.xml"]),
        ('<a href="/?feed=rss2">Follow</a>', ["https://blog.example.org/?feed=rss2"]),
        ('<a href="/all.atom">Follow</a>', ["https://blog.example.org/all.atom"]),
        ('<a href="/f" type="application/rss+xml">Follow</a>', ["https://blog.example.org/f"]),
        ('<a href="/subscribe">via <b>RSS</b></a>', ["https://blog.example.org/subscribe"]),
        ('<a href="/subscribe">Feed</a>', ["https://blog.example.org/subscribe"]),
        ('<a href="/give">Feed the birds</a>', []),
        ('<a href="/sitemap.xml">Sitemap</a>', []),
        ('<a href="/words">Of atoms and feedback</a>', []),
        ('<a href="/a">A long text that mentions RSS somewhere in its many words about us</a>', []),
        ('<a name="rss">RSS</a>', []),
        ('<a href="mailto:rss@example.org">RSS</a>', []),
    ],
)
def test_links_in_the_text_that_look_like_feeds_are_the_fallback(html: str, found: list[str]) -> None:
    page = read_page(html, HOME)
    assert [link.url for link in page.anchors] == found
    assert not page.links


def test_at_most_ten_links_in_the_text_are_tried() -> None:
    html = "".join(f'<a href="/{n}/feed">x</a>' for n in range(30))
    assert len(read_page(html, HOME).anchors) == MAX_ANCHORS


@pytest.mark.parametrize(
    ("html", "has_posts"),
    [
        ('<div class="h-feed">', True),
        ('<article class="post h-entry">', True),
        ("<article class=h-entry>", True),
        ('<article class="h-entryish">', False),
        ('<a class="h-card">', False),
    ],
)
def test_a_page_of_h_entries_has_posts(html: str, has_posts: bool) -> None:
    assert read_page(html, HOME).has_posts is has_posts


@pytest.mark.parametrize(
    ("body", "type_", "page"),
    [
        (b"<!DOCTYPE html><p>x", "", True),
        (b"\xef\xbb\xbf\n<html>", "application/xml", True),
        (b"<!-- a comment --><head>", "", True),
        (b"<section>x</section>", "text/html; charset=utf-8", True),
        (rss([]), "text/html", False),
        (atom([]), "text/html", False),
        (b'{"version": "https://jsonfeed.org/version/1.1"}', "application/feed+json", False),
        (b"plain words", "text/plain", False),
        (b"plain words", "text/html", True),
        (b"<!DOCTYPE html><feed xmlns='http://www.w3.org/2005/Atom'>", "text/html", False),
        (b"<!-- <p>made by hand</p> --><rss version='2.0'>", "text/html", False),
        (b'{"version": "https://jsonfeed.org/version/1", "items": [{"content_html": "<p>"}]}', "", False),
        (b'{"items": "<html>"}', "text/html", False),
        ("<html><p>x".encode("utf-16-le"), "", True),
        ("<!DOCTYPE html><title>x".encode("utf-16"), "text/html", True),
        (b"", "text/html", False),
    ],
)
def test_a_page_is_told_from_a_feed_by_its_first_element(body: bytes, type_: str, page: bool) -> None:
    assert is_page(body, type_, refused=True) is page


@pytest.mark.parametrize(
    ("body", "type_"),
    [
        ("Café".encode(), "text/html"),
        ("Café".encode("cp1252"), "text/html; charset=ISO-8859-1"),
        (b'<meta charset="windows-1252">' + "Café".encode("cp1252"), "text/html"),
        ("Café".encode(), 'text/html; charset="no-such-thing"'),
        ("Café".encode(), "text/html; charset=base64"),
        ("<p>Café".encode("utf-16"), "text/html"),
        ("<p>Café".encode("utf-16-be"), "text/html; charset=utf-8"),
    ],
)
def test_a_page_is_decoded_as_it_says(body: bytes, type_: str) -> None:
    assert decoded(body, type_).endswith("Café")


@pytest.mark.parametrize(
    ("url", "title"),
    [
        ("https://x.test/comments/feed/", ""),
        ("https://x.test/?feed=comments-rss2", ""),
        ("https://x.test/feeds/comments/default", ""),
        ("https://x.test/a-post/feed/", "Comments on: A post"),
        ("https://x.test/feed2", "My Blog » Comments Feed"),
        ("https://x.test/feed2", "Kommentare zu: Ein Beitrag"),
        ("https://x.test/feed2", "Mein Blog » Kommentar-Feed"),
        ("https://x.test/feed2", "Commentaires sur : Un billet"),
        ("https://x.test/feed2", "Comentarios en: Una entrada"),
        ("https://x.test/feed2", "Commenti su: Un articolo"),
        ("https://x.test/feed2", "Recent comments"),
    ],
)
def test_feeds_of_comments_are_recognised(url: str, title: str) -> None:
    assert is_comment_feed(url, title)


@pytest.mark.parametrize(
    ("url", "title"),
    [
        ("https://x.test/feed/", "My Blog"),
        ("https://commentary.test/feed", "The Commentary"),
        ("https://x.test/commentary/feed", "Comment is free"),
        ("http://[", "x"),
    ],
)
def test_feeds_of_posts_are_not_taken_for_comments(url: str, title: str) -> None:
    assert not is_comment_feed(url, title)


@pytest.mark.parametrize(
    ("url", "found"),
    [
        (f"https://www.youtube.com/channel/{CHANNEL}/videos", [f"{VIDEOS}?channel_id={CHANNEL}"]),
        ("https://www.youtube.com/playlist?list=PL123-_a", [f"{VIDEOS}?playlist_id=PL123-_a"]),
        ("https://m.youtube.com/user/somebody", [f"{VIDEOS}?user=somebody"]),
        ("https://www.youtube.com/channel/no-channel", []),
        ("https://mastodon.example/@ada", ["https://mastodon.example/@ada.rss"]),
        ("https://mastodon.example/@ada/with_replies", ["https://mastodon.example/@ada.rss"]),
        ("https://mastodon.example/@ada@other.example", ["https://other.example/@ada.rss"]),
        ("https://mastodon.example/@ada.rss", []),
        (
            "https://mastodon.example/users/ada",
            ["https://mastodon.example/@ada.rss", "https://mastodon.example/users/ada.rss"],
        ),
        (
            "https://github.com/ada/engine/tree/main/src",
            [f"https://github.com/ada/engine/{name}.atom" for name in ("releases", "tags", "commits")],
        ),
        ("https://github.com/ada", ["https://github.com/ada.atom"]),
        ("https://github.com/topics/rss", []),
        ("https://github.com/", []),
        ("https://www.reddit.com/r/python/", ["https://www.reddit.com/r/python/.rss"]),
        ("https://old.reddit.com/user/ada", ["https://old.reddit.com/user/ada/.rss"]),
        ("https://ada.tumblr.com/post/1", ["https://ada.tumblr.com/rss"]),
        ("https://www.tumblr.com/ada", ["https://ada.tumblr.com/rss"]),
        ("https://www.tumblr.com/blog/ada", ["https://ada.tumblr.com/rss"]),
        ("https://medium.com/@ada/a-story-1", ["https://medium.com/feed/@ada"]),
        ("https://medium.com/the-paper", ["https://medium.com/feed/the-paper"]),
        ("https://ada.medium.com/", ["https://ada.medium.com/feed"]),
        ("https://ada.substack.com/p/letter", ["https://ada.substack.com/feed"]),
        ("https://substack.com/@ada", ["https://ada.substack.com/feed"]),
        ("https://ada.blogspot.com/2026/01/x.html", ["https://ada.blogspot.com/feeds/posts/default"]),
        ("https://blog.example.org/about", []),
        ("https://notyoutube.com/channel/x", []),
        ("http://[", []),
    ],
)
def test_known_sites_are_guessed(url: str, found: list[str]) -> None:
    assert list(guesses(url)) == found


def test_a_youtube_handle_leads_to_its_channel_by_what_the_page_says() -> None:
    html = f'<script>var data = {{"externalId": "{CHANNEL}"}}</script>'
    assert list(guesses("https://www.youtube.com/@ada", html)) == [f"{VIDEOS}?channel_id={CHANNEL}"]


def test_releases_go_before_what_a_repository_page_names() -> None:
    assert prefers_guesses("https://github.com/ada/engine")
    assert not prefers_guesses("https://www.youtube.com/@ada")


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("@ada@Mastodon.example", "https://mastodon.example/@ada"),
        (" @ada@mastodon.example ", "https://mastodon.example/@ada"),
        ("ada@mastodon.example", ""),
        ("@ada", ""),
        ("@ada@localhost", ""),
    ],
)
def test_a_handle_leads_to_its_profile(text: str, page: str) -> None:
    assert handle_page(text) == page


def test_the_usual_places_are_tried_beside_the_page_and_at_the_root() -> None:
    assert well_known("https://x.test/") == tuple(
        f"https://x.test/{path}"
        for path in ["feed", "feed.xml", "rss.xml", "atom.xml", "index.xml", "rss", "blog/feed", "feed.json"]
    )
    assert well_known("https://x.test/~ada?x=1")[:3] == (
        "https://x.test/~ada/feed",
        "https://x.test/~ada/feed.xml",
        "https://x.test/~ada/index.xml",
    )
    assert well_known("https://x.test/about.html") == well_known("https://x.test/")


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (rss([]), "RSS 2.0"),
        (b"<rss><channel/></rss>", "RSS"),
        (atom([]), "Atom"),
        (b"<?xml version='1.0'?><!-- x --><rdf:RDF xmlns='x'>", "RSS 1.0"),
        (b' \n{"version": "https://jsonfeed.org/version/1.1"}', "JSON Feed"),
        (b"<!doctype html><div class=h-feed>", "the page itself (h-feed)"),
    ],
)
def test_a_format_is_named_for_people(body: bytes, name: str) -> None:
    assert format_of(body) == name


@pytest.mark.parametrize(
    "href", ["http://[", "/feedback", "/rss-reader", "/style.css", "/?s=rss", "/feed.png"]
)
def test_an_address_without_the_look_of_a_feed(href: str) -> None:
    assert not looks_like_feed(href)


@pytest.mark.parametrize(
    "piece",
    some_now(
        [
            "<a ",
            "<!--",
            '<a x="',
            "<a x='\" ",
            "<script>",
            "<a href=feed>",
            "<a href=/rss>rss",
            "<title>",
            "<a\t/",
        ]
    ),
)
def test_a_hostile_page_costs_no_more_than_its_length(piece: str) -> None:
    # A quadratic reader would take minutes and exceed pytest's time-out.
    read_page(piece * (MAX_PAGE // len(piece)), HOME)


@pytest.mark.parametrize(
    ("header", "links"),
    [
        ('<https://hub.example/>; rel="hub"', [("hub", "https://hub.example/")]),
        ("<https://hub.example/>;rel=hub", [("hub", "https://hub.example/")]),
        ('<a>; rel="self", <b>; rel=HUB', [("self", "a"), ("hub", "b")]),
        ('<a>; title="x, <y>; rel=no"; rel="hub self"', [("hub", "a"), ("self", "a")]),
        ('<a>; rel=first; rel="second"', [("first", "a")]),
        (r'<a>; title="a \" b"; rel=hub', [("hub", "a")]),
        ("<a>; crossorigin; rel=hub", [("hub", "a")]),
        ('<a>; rel="hub"; anchor="/other"', []),
        (" ,, <a>;rel=hub , ,<b>;rel=self", []),
        ("<a>", []),
        ("rel=hub", []),
        ("<a; rel=hub", []),
        ('<a>; rel="hub', []),
        ("", []),
    ],
)
def test_it_says_these_links(header: str, links: list[tuple[str, str]]) -> None:
    assert links_of_header(header) == links


def test_what_cannot_be_read_costs_only_the_links_behind_it() -> None:
    assert links_of_header("<a>; rel=hub, nonsense, <b>; rel=self") == [("hub", "a")]


def test_a_header_without_end_has_an_end() -> None:
    assert len(links_of_header("<a>; rel=hub, " * 100_000)) == MAX_HEADER_LINKS


@given(st.text(max_size=80) | st.text(alphabet='<>;,="\\ rel', max_size=80))
def test_any_text_is_a_header(text: str) -> None:
    for relation, target in links_of_header(text):
        assert relation == relation.lower().strip() != ""
        assert not set("<>") & set(target)
