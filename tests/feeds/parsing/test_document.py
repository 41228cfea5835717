"""Documents with any kind of error."""

import contextlib
import io
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path

import feedparser
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from common.text import words
from feeds.parsing.document import parse
from feeds.parsing.entry import Media, ParsedFeed, ParseError
from tests.examples import NIGHTLY, examples
from tests.servers.documents import atom, rss

URL = "https://blog.example.org/feed.xml"
MONDAY = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
PIECES = st.sampled_from(
    sorted(
        words("""
    <rss version='2.0'> <channel> <item> </item> <guid>1</guid> <guid> <title> </title> <link> <![CDATA[ ]]>
    <!-- --> &amp; &#0; &#xD800; <entry> <feed> <id>x</id> <content type='xhtml'> <pubDate>x</pubDate> </ >
    <media:content url='/x'> <enclosure/> <rdf:RDF> <!DOCTYPE <!ENTITY <?xml encoding='utf-7'?>
    <content:encoded>
    xml:base='http://[' <source> <image> <author> <content mode='base64'> <category/> <itunes:image/>
    """)
    )
)


def read(body: bytes, *, content_type: str = "application/xml", limit: int = 500) -> ParsedFeed:
    return parse(body, content_type=content_type, url=URL, limit=limit)


def refusal(body: bytes, content_type: str = "text/html") -> str:
    with pytest.raises(ParseError) as caught:
        read(body, content_type=content_type)
    return str(caught.value)


@pytest.mark.parametrize("write", [rss, atom])
def test_every_field_of_a_post_is_read(write: Callable[..., bytes]) -> None:
    item = {
        "guid": "tag:1",
        "title": "One & <b>two</b>",
        "link": "https://blog.example.org/1",
        "content": "<p>Long</p>",
        "description": "Short",
        "published": MONDAY,
        "authors": ["Ada", "Grace"],
        "categories": ["News", "Tea"],
        "enclosures": [{"url": "https://blog.example.org/1.mp3", "type": "audio/mpeg"}],
    }
    feed = read(write([item], title="Example"))
    (entry,) = feed.entries
    assert (feed.title, feed.link, feed.language) == ("Example", "https://blog.example.org/", "en")
    assert (entry.guid, entry.title, entry.link) == ("tag:1", "One & two", "https://blog.example.org/1")
    assert (entry.content, entry.summary, entry.published) == ("<p>Long</p>", "Short", MONDAY)
    assert (entry.authors, entry.categories) == (("Ada", "Grace"), ("News", "Tea"))
    assert entry.media == (Media("https://blog.example.org/1.mp3", "audio/mpeg"),)


def test_the_order_of_the_document_is_kept() -> None:
    feed = read(rss([{"guid": str(number)} for number in (3, 1, 2)]))
    assert feed.guids == ("3", "1", "2")
    assert [entry.guid for entry in feed.entries] == ["3", "1", "2"]


def test_a_post_without_guid_is_known_by_its_link() -> None:
    feed = read(rss([{"title": "One", "link": "https://e.org/1"}]))
    assert feed.guids == ("feedletter-synthetic:https://e.org/1",)


def test_a_post_without_guid_and_link_is_known_by_title_and_date() -> None:
    items = [{"title": "One", "published": MONDAY}, {"title": "One", "published": MONDAY + timedelta(days=1)}]
    first, second = read(rss(items)).guids
    assert first != second
    assert read(rss([{**items[0], "description": "edited"}])).guids == (first,)


def test_a_post_without_identity_is_passed_over_with_a_warning() -> None:
    feed = read(rss([{"description": "nothing"}, {"guid": "1"}]))
    assert feed.guids == ("1",)
    assert "1 post without guid" in feed.warnings[0]


def test_a_feed_with_no_post_that_could_be_told_apart_is_refused() -> None:
    assert "too broken" in refusal(rss([{"description": " "}, {"author": "a@one.example"}]))


def test_where_no_post_has_anything_else_each_is_told_by_its_text() -> None:
    feed = read(rss([{"description": "one"}, {"description": "two"}, {"description": "one  "}]))
    assert [entry.summary for entry in feed.entries] == ["one", "two"]
    assert read(rss([{"description": "two"}])).guids == feed.guids[1:]


def test_of_two_posts_with_one_guid_and_title_the_first_counts() -> None:
    feed = read(
        rss([{"guid": "1", "title": "it", "link": "/a"}, {"guid": "1", "title": " It", "link": "/b"}])
    )
    assert [(entry.guid, entry.title) for entry in feed.entries] == [("1", "it")]
    assert feed.warnings == ("1 post with the guid of an earlier one; the first one counts.",)


def test_two_posts_with_one_guid_and_different_titles_are_two() -> None:
    feed = read(rss([{"guid": "1", "title": "first"}, {"guid": "1", "title": "second"}, {"guid": "2"}]))
    assert [entry.title for entry in feed.entries] == ["first", "second", ""]
    assert (feed.guids[0], feed.guids[2]) == ("1", "2")
    assert feed.warnings == ("1 post with the guid or link of another, told apart by title.",)


def test_atom_entries_with_one_id_are_one_unless_their_links_differ() -> None:
    titles = [
        {"guid": "urn:1", "title": "newer", "link": "/1"},
        {"guid": "urn:1", "title": "old", "link": "/1"},
    ]
    assert [entry.title for entry in read(atom(titles)).entries] == ["newer"]
    links = [{"guid": "urn:1", "title": "a", "link": "/1"}, {"guid": "urn:1", "title": "b", "link": "/2"}]
    assert [entry.title for entry in read(atom(links)).entries] == ["a", "b"]


def test_a_shared_link_is_told_apart_in_every_format() -> None:
    items = [{"url": "https://e.org/", "title": "a"}, {"url": "https://e.org/", "content_text": "b"}]
    body = json.dumps({"version": "https://jsonfeed.org/version/1.1", "title": "T", "items": items})
    page = "".join(
        f'<div class="h-entry"><a class="u-url p-name" href="https://e.org/">{name}</a></div>'
        for name in "ab"
    )
    both = [
        parse(body.encode(), content_type="", url=URL),
        parse(f'<html><div class="h-feed">{page}</div></html>'.encode(), content_type="", url=URL),
    ]
    assert [len(feed.guids) for feed in both] == [2, 2]
    assert [feed.guids[0] for feed in both] == ["feedletter-synthetic:https://e.org/", "https://e.org/"]


def test_a_guid_that_looks_like_the_name_of_another_post_breaks_nothing() -> None:
    own = read(rss([{"guid": "1", "title": "a"}, {"guid": "1", "title": "b"}])).guids[1]
    shown = [{"guid": "1", "title": "a"}, {"guid": "1", "title": "b"}, {"guid": own, "title": "c"}]
    for order in permutations(shown):
        feed = read(rss(list(order)))
        assert len(set(feed.guids)) == len(feed.guids) == len(feed.names)


def test_a_permalink_guid_is_the_link_when_there_is_none() -> None:
    assert read(rss([{"guid": "https://e.org/1"}])).entries[0].link == "https://e.org/1"
    assert read(rss([{"guid": "https://e.org/1", "permalink": False}])).entries[0].link == ""
    assert read(rss([{"guid": "1234"}])).entries[0].link == ""
    assert (
        read(rss([{"guid": "https://e.org/1", "link": "https://e.org/2"}])).entries[0].link
        == "https://e.org/2"
    )


def test_a_guid_does_not_depend_on_where_the_feed_is_read_from() -> None:
    body = rss([{"guid": "post-1"}])
    assert parse(body, content_type="", url="https://mirror.example/").guids == ("post-1",)


def test_relative_links_are_resolved_against_the_site() -> None:
    items = [{"guid": "1", "link": "/posts/1", "enclosures": [{"url": "a.png", "type": "image/png"}]}]
    (entry,) = read(rss(items, link="https://www.example.org/blog/")).entries
    assert (entry.link, entry.image) == (
        "https://www.example.org/posts/1",
        "https://www.example.org/blog/a.png",
    )
    (entry,) = read(rss(items, link="")).entries
    assert entry.link == "https://blog.example.org/posts/1"


@pytest.mark.parametrize("link", ["javascript:alert(1)", "data:text/html,x", "http://[bad/", "ftp://e.org/x"])
def test_a_link_that_is_no_address_of_the_web_is_left_out(link: str) -> None:
    (entry,) = read(rss([{"guid": "1", "link": link}])).entries
    assert entry.link == ""


def test_missing_and_unreadable_dates_are_none_and_future_ones_are_kept() -> None:
    dates = [None, "yesterday", "Mon, 99 Foo 2026", "Tue, 01 Jan 2999 00:00:00 GMT"]
    items = [{"guid": str(n), **({"published": date} if date else {})} for n, date in enumerate(dates)]
    entries = read(rss(items)).entries
    assert [entry.published for entry in entries] == [None, None, None, datetime(2999, 1, 1, tzinfo=UTC)]


def test_a_title_of_ten_kilobytes_is_cut_to_one() -> None:
    (entry,) = read(rss([{"guid": "1", "title": "t" * 10_000}])).entries
    assert len(entry.title) == 1_000
    assert entry.title.endswith("…")


def test_content_is_cut_at_half_a_megabyte() -> None:
    (entry,) = read(rss([{"guid": "1", "content": "<p>x</p>" * 100_000}])).entries
    assert len(entry.content) == 500_000


def test_a_title_is_one_line_without_control_characters() -> None:
    (entry,) = read(rss([{"guid": "1", "title": "One\r\nBcc: eve@example.org\x07\u202e"}])).entries
    assert entry.title == "One Bcc: eve@example.org"


def test_nul_and_control_characters_are_left_out_with_a_warning() -> None:
    body = rss([{"guid": "1", "title": "a#b", "content": "<p>c#d</p>"}]).replace(b"#", b"\x00\x0b\x1f")
    feed = read(body)
    assert (feed.entries[0].title, feed.entries[0].content) == ("ab", "<p>cd</p>")
    assert "control characters" in feed.warnings[0]


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ("a&#xD800;b", "ab"),
        ("a&#0;b&#x1;", "ab"),
        ("a&#99999999999999999999;", "a"),
        ("&#55357;&#56832;", "😀"),
        ("&#xD83D;&#xDE00;", "😀"),
        ("&#8217;&#x1F600;", "’😀"),
    ],
)
def test_references_to_no_character_cost_no_feed(written: str, read_as: str) -> None:
    body = rss([{"guid": "1" + written, "title": written}]).replace(b"&amp;#", b"&#")
    feed = read(body)
    assert (feed.guids, feed.entries[0].title) == (("1" + read_as,), read_as)


def test_the_newest_entries_are_read_in_full_and_all_guids_are_known() -> None:
    items = [{"guid": str(n), "published": MONDAY + timedelta(hours=n)} for n in range(20)]
    feed = read(rss(items), limit=5)
    assert len(feed.guids) == 20
    assert [entry.guid for entry in feed.entries] == ["15", "16", "17", "18", "19"]
    assert feed.warnings == ("The feed has 20 posts; the newest 5 are read in full.",)


def test_without_dates_both_ends_of_a_long_document_are_read() -> None:
    feed = read(rss([{"guid": str(n)} for n in range(20)]), limit=6)
    assert [entry.guid for entry in feed.entries] == ["0", "1", "2", "17", "18", "19"]


def test_entries_without_a_date_leave_room_for_those_with_one() -> None:
    items = [{"guid": f"u{n}"} for n in range(10)] + [
        {"guid": f"d{n}", "published": MONDAY} for n in range(10)
    ]
    feed = read(rss(items), limit=6)
    assert sum(entry.guid.startswith("d") for entry in feed.entries) == 3


@pytest.mark.parametrize("body", [b"", b"  \n", b"\xef\xbb\xbf", b"\0\0\0"])
def test_an_empty_body_is_refused(body: bytes) -> None:
    assert refusal(body).startswith("The address answers with nothing.")


@pytest.mark.parametrize(
    "body",
    [
        b"<!DOCTYPE html><html><body>Hi</body></html>",
        b"\xef\xbb\xbf\n<!-- <rss> --><HTML><p>404</p>",
        b"<?xml version='1.0'?><!DOCTYPE html PUBLIC 'x' 'y'><html xmlns='http://www.w3.org/1999/xhtml'/>",
        "<html><p>wide</p></html>".encode("utf-16"),
    ],
)
def test_a_web_page_is_refused(body: bytes) -> None:
    assert refusal(body).startswith("This address is a web page, not a feed.")


def test_a_feed_served_as_a_web_page_is_read() -> None:
    assert read(rss([{"guid": "1"}]), content_type="text/html; charset=utf-8").guids == ("1",)


@pytest.mark.parametrize(
    "body", [b"Hello", b"<svg><path/></svg>", b"\x89PNG\r\n\x1a\n" + b"x" * 99, b"<" * 999]
)
def test_what_is_neither_rss_nor_atom_is_refused(body: bytes) -> None:
    assert "neither RSS nor Atom" in refusal(body)


@pytest.mark.parametrize("before", ["", "\ufeff", "  \n"])
@pytest.mark.parametrize("content_type", ["text/html", "application/rss+xml", ""])
def test_the_bytes_say_what_a_document_is_and_not_the_server(before: str, content_type: str) -> None:
    bodies = {
        "xml": rss([{"guid": "1", "content": "<p>{} [] h-entry</p>"}]).decode(),
        "json": '{"version": "https://jsonfeed.org/version/1", "items": [{"id": 1, "content_html": "<p>"}]}',
        "page": '<!doctype html><div class="h-entry"><a class="u-url" href="/1">One</a></div>',
    }
    guids = {"xml": "1", "json": "1", "page": "https://blog.example.org/1"}
    for name, text in bodies.items():
        assert read((before + text).encode(), content_type=content_type).guids == (guids[name],)


def test_xml_behind_something_in_braces_is_still_xml() -> None:
    feed = read(b"[debug] {x}\n" + rss([{"guid": "1"}]))
    assert feed.guids == ("1",)
    assert "before the beginning" in feed.warnings[0]


def test_relative_links_are_resolved_against_xml_base() -> None:
    head = b'<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://b.example/blog/"><title>x</title>'
    entry = (
        b'<entry xml:base="2026/"><id>1</id><link href="one"/><content type="html">&lt;a></content>'
        b'<link rel="enclosure" href="one.mp3"/></entry>'
    )
    (found,) = read(head + entry + b"</feed>").entries
    assert (found.base, found.link) == ("https://b.example/blog/2026/", "https://b.example/blog/2026/one")
    assert found.media == (Media("https://b.example/blog/2026/one.mp3"),)


def test_links_of_entries_are_relative_to_the_document() -> None:
    """RFC 4287 §2: not to the feed's own links."""
    head = b'<feed xmlns="http://www.w3.org/2005/Atom"><title>x</title><link rel="self" href="blog/feed"/>'
    (found,) = read(head + b'<entry><id>1</id><link href="one"/></entry></feed>').entries
    assert found.link == "https://blog.example.org/one"


def test_a_relative_xml_base_means_the_documents_own_place() -> None:
    item = b"<item><guid>1</guid><description>x</description></item>"
    body = b'<rss version="2.0" xml:base="/deep/"><channel>' + item + b"</channel></rss>"
    (found,) = read(body).entries
    assert found.base == "https://blog.example.org/deep/"


def test_without_xml_base_there_is_none() -> None:
    assert read(rss([{"guid": "1", "content": "x"}])).entries[0].base == ""


def test_an_empty_feed_is_a_feed() -> None:
    assert read(rss([])) == ParsedFeed(title="Example Blog", link="https://blog.example.org/", language="en")


def test_an_empty_feed_with_broken_xml_is_refused() -> None:
    assert "too broken" in refusal(b"<rss version='2.0'><channel><title>x</titel>")


def test_one_broken_post_leaves_the_others_unharmed() -> None:
    body = rss([{"guid": "1", "title": "one"}, {"guid": "2", "title": "#"}, {"guid": "3", "title": "three"}])
    feed = read(body.replace(b"#", b"</b> & <i>"))
    assert feed.guids == ("1", "2", "3")
    assert (feed.entries[0].title, feed.entries[2].title) == ("one", "three")
    assert feed.warnings == ("The feed is not well-formed XML; it was read as far as possible.",)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("before", ["", "<!-- x -->", "<?pi?>", "<!-- < -->"])
@pytest.mark.parametrize(
    "declared",
    [
        '<!entity a "b">',
        "<!ENTITY a '<rss><item>\"]>'>",
        '<!ENTITY % all SYSTEM "http://127.0.0.1:9/x.dtd"> %all;',
        '<!-- isn\'t "it"? ]> <rss> --><!ENTITY a "b">',
        "<?php ]> <feed> \" ?><!ENTITY a 'b'>",
        "<!ELEMENT rss ANY>" * 500,
    ],
)
def test_what_a_doctype_declares_is_thrown_away_with_it(encoding: str, before: str, declared: str) -> None:
    inside = "<channel><title>&a;</title><item><guid>1</guid></item></channel>"
    body = f'{before}<!DOCTYPE rss [{declared}]><rss version="2.0">{inside}</rss>'
    feed = read(body.encode(encoding))
    assert (feed.title, feed.guids) == ("&a;", ("1",))


@pytest.mark.parametrize(
    "before",
    ['<!DOCTYPE rss [<!ENTITY a "b>', "<!ENTITY a 'b'>", f"<!DOCTYPE {'x' * 2_000} [<!ENTITY a 'b'>]>"],
)
def test_entities_are_refused_where_their_end_does_not_show(before: str) -> None:
    assert "entities" in refusal(f'{before}<rss version="2.0"><channel/></rss>'.encode())


def test_a_post_may_speak_of_entities() -> None:
    (entry,) = read(rss([{"guid": "1", "content": "<pre>&lt;!ENTITY a &gt;</pre> <!ENTITY"}])).entries
    assert "ENTITY" in entry.content


def test_a_file_name_as_a_body_reads_no_file(tmp_path: Path) -> None:
    (tmp_path / "feed.xml").write_bytes(rss([{"guid": "1"}]))
    assert "neither RSS nor Atom" in refusal(bytes(tmp_path / "feed.xml"))


@NIGHTLY
def test_a_hundred_thousand_posts_cost_hardly_more_than_feedparser_itself() -> None:
    def written(count: int) -> bytes:
        return rss([{"guid": str(number), "title": "t"} for number in range(count)])

    start = time.process_time()
    feedparser.parse(io.BytesIO(written(20_000)), sanitize_html=False, resolve_relative_uris=False)
    fifth = time.process_time() - start
    feed = read(written(100_000))
    assert time.process_time() - start - fifth <= 1.5 * 5 * fifth
    assert (len(feed.guids), len(feed.entries)) == (100_000, 500)


@settings(max_examples=examples(400))
@given(
    st.one_of(st.binary(max_size=300), st.lists(PIECES, max_size=30).map(lambda them: "".join(them).encode()))
)
@example(b"<feed><entry><id>x</id><content mode='base64'>&#xD800;")
@example(rss([{"guid": "1"}])[:-30])
def test_any_bytes_are_a_feed_or_the_one_error(body: bytes) -> None:
    feed = None
    with contextlib.suppress(ParseError):
        feed = read(body)
    if feed:
        assert len(set(feed.guids)) == len(feed.guids) >= len(feed.entries)
        assert "\0" not in repr(feed)


@pytest.mark.parametrize("write", [rss, atom])
def test_a_post_has_the_language_of_its_feed_unless_it_names_its_own(write: Callable[..., bytes]) -> None:
    own = '<dc:language xmlns:dc="http://purl.org/dc/elements/1.1/">fr</dc:language>'
    body = write([{"guid": "1"}, {"guid": "2", "extra": own}], language="ar")
    assert [entry.language for entry in read(body).entries] == ["ar", "fr"]


@pytest.mark.parametrize(
    ("content", "is_used"),
    [
        ("<p>&nbsp;</p>", False),
        ("<div><p>\u200b</p><br/></div>", False),
        ("<!-- x --><p></p>", False),
        ('<img src="https://blog.example.org/a.jpg"/>', True),
        ('<iframe src="https://blog.example.org/"></iframe>', True),
        ('<a href="https://blog.example.org/"></a>', True),
        ("<p>.</p>", True),
    ],
)
def test_a_content_that_shows_nothing_hides_no_description(content: str, is_used: bool) -> None:
    (entry,) = read(rss([{"guid": "1", "content": content, "description": "All of it"}])).entries
    assert (entry.content, entry.summary) == (content if is_used else "", "All of it")


@pytest.mark.parametrize(
    ("label", "codec", "title"),
    [
        ("x-sjis", "cp932", "日本語"),
        ("iso-8859-8-i", "iso8859-8", "שלום"),
        ("x-mac-cyrillic", "mac-cyrillic", "Привет"),
        ("gb2312", "gb18030", "镕"),
        ("windows-31j", "cp932", "日本語"),
        ("iso-8859-1", "cp1252", "“é”"),
        ("dos-874", "cp874", "สวัสดี"),
    ],
)
def test_names_of_encodings_are_those_of_the_encoding_standard(label: str, codec: str, title: str) -> None:
    text = rss([{"guid": "1", "title": title}]).decode().replace("UTF-8", label)
    feed = read(text.encode(codec))
    assert (feed.entries[0].title, feed.warnings) == (title, ())


def test_an_unknown_encoding_is_guessed_with_a_warning() -> None:
    title = "Сегодня утром вода поднялась очень высоко"
    text = (
        rss([{"guid": "1", "title": title, "content": title * 5}]).decode().replace("UTF-8", "x-unheard-of")
    )
    feed = read(text.encode("cp1251"))
    assert feed.entries[0].title == title
    assert "x-unheard-of" in feed.warnings[0]


@pytest.mark.parametrize(
    ("guid", "link"),
    [
        ("https://blog.example.org/?p=7", "https://blog.example.org/?p=7"),
        ("https://other.example/?p=7", ""),
        ("https://[x", ""),
    ],
)
def test_a_guid_at_the_feeds_host_is_the_link_of_a_post_without_one(guid: str, link: str) -> None:
    (entry,) = read(rss([{"guid": guid, "permalink": False, "title": "a"}])).entries
    assert entry.link == link
