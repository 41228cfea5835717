"""OPML of other programs in any form, and ours, which round-trips.

Additions to OPML by other programs: paused feeds, rules, pages made into feeds, secrets.
"""

import time
import xml.etree.ElementTree as ET
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feeds.parsing.opml import MAX_FEEDS, Listed, Opml, OpmlError, Outline, extras_of, parse_opml, write_opml
from tests.examples import some_now

FILES = Path(__file__).parents[2] / "fixtures" / "migrations" / "opml"
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<opml version="2.0"><head><title>Mine</title></head><body>\n'
FOOT = "</body></opml>"
WHEN = datetime(2026, 3, 2, 12, tzinfo=UTC)
BROKEN = [
    ('<outline text="A & B" xmlUrl="https://x.test/feed?a=1&copy=2"/>', "A & B"),
    ('<outline text="I <3 feeds" xmlUrl="https://x.test/feed?a=1&copy=2"/>', "I <3 feeds"),
    ("<outline text='Caf\u00e9&nbsp;A' xmlUrl='https://x.test/feed?a=1&amp;copy=2'>", "Café A"),
    ('<OUTLINE TEXT="A\x07B" XMLURL="https://x.test/feed?a=1&amp;copy=2" />', "AB"),
    ('<outline text="A" text="B" xmlUrl="https://x.test/feed?a=1&amp;copy=2"/>', "A"),
    (
        '<!-- <outline xmlUrl="https://no.test/"/> --><outline text="A" xmlUrl="https://x.test/feed?a=1&copy=2">',
        "A",
    ),
]
LAUGHS = '<!DOCTYPE opml [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><opml><body><outline text="&b;" xmlUrl="https://x.test/"/>'


def outlines(body: str, head: str = HEAD, foot: str = FOOT) -> list[Outline]:
    return parse_opml(f"{head}{body}{foot}".encode()).outlines


def feed(attributes: str) -> Outline:
    (found,) = outlines(f"<outline {attributes}/>")
    return found


def test_an_outline_has_its_line_address_name_and_site() -> None:
    (found,) = outlines(
        '<outline text="Short" title="The Blog" type="rss" xmlUrl="https://x.test/feed?a=1&amp;b=2"\n'
        '  htmlUrl="https://x.test/"/>'
    )
    assert found == Outline(3, "https://x.test/feed?a=1&b=2", "The Blog", "https://x.test/")


def test_the_file_has_a_title() -> None:
    assert parse_opml(f'{HEAD}<outline xmlUrl="https://x.test/"/>{FOOT}'.encode()).title == "Mine"


@pytest.mark.parametrize("name", ["xmlUrl", "xmlurl", "XMLURL", "xmlURL", "url"])
def test_the_address_is_found_however_it_is_written(name: str) -> None:
    assert feed(f'type="rss" text="A" {name}="https://x.test/feed"').url == "https://x.test/feed"


def test_xml_url_goes_before_url() -> None:
    assert feed('type="rss" url="https://x.test/" xmlUrl="https://x.test/feed"').url == "https://x.test/feed"


def test_a_name_that_is_only_the_address_is_none() -> None:
    assert feed('text="https://x.test/feed" xmlUrl="https://x.test/feed"').title == ""


@pytest.mark.parametrize("site", ["javascript:alert(1)", "x.test", "https://x.test/ with blanks", ""])
def test_a_site_that_is_no_web_address_is_left_out(site: str) -> None:
    assert feed(f'xmlUrl="https://x.test/feed" htmlUrl="{site}"').site_url == ""


def test_folders_keep_their_names_and_their_order() -> None:
    found = parse_opml(
        f'{HEAD}<outline text="Empty, really"></outline>'
        '<outline text="News, daily"><outline text="Deep"><outline xmlUrl="https://a.test/"/></outline>'
        '<outline xmlUrl="https://b.test/" category="/Sea/Wrecks,Boats"/></outline>'
        f'<outline xmlUrl="https://c.test/"/>{FOOT}'.encode()
    )
    assert found.folders == ["Empty, really", "Deep", "News, daily"]
    assert [(one.folder, one.categories) for one in found.outlines] == [
        ("Deep", ()),
        ("News, daily", ("Wrecks", "Boats")),
        ("", ()),
    ]


def test_folders_that_are_named_come_first_even_if_empty() -> None:
    listed = [Listed("https://a.test/", folder="Aft"), Listed("https://b.test/", folder="Bow, fore")]
    text = "".join(write_opml(listed, title="", created=WHEN, first=["Bow, fore", "Empty"]))
    assert parse_opml(text.encode()).folders == ["Bow, fore", "Empty", "Aft"]
    assert "category" not in text


def test_each_folder_that_a_feed_stands_in_is_a_tag() -> None:
    found = outlines(
        '<outline text="News"><outline text="Tech, hard"><outline xmlUrl="https://a.test/"/></outline>'
        '<outline xmlUrl="https://b.test/"/></outline><outline xmlUrl="https://c.test/"/>'
    )
    assert [one.tags for one in found] == [("News", "Tech hard"), ("News",), ()]


def test_categories_are_tags_and_a_path_of_them_several() -> None:
    found = feed('xmlUrl="https://a.test/" category="/Boston/Weather, TV/Film,weather,,"')
    assert found.tags == ("Boston", "Weather", "TV/Film")


def test_folder_and_category_of_one_name_are_one_tag() -> None:
    (found,) = outlines(
        '<outline text="News"><outline xmlUrl="https://a.test/" category="news,more"/></outline>'
    )
    assert found.tags == ("News", "more")


def test_a_feed_with_feeds_below_it_is_no_folder() -> None:
    found = outlines(
        '<outline text="A" xmlUrl="https://a.test/"><outline xmlUrl="https://b.test/"/></outline>'
    )
    assert [(one.url, one.tags) for one in found] == [("https://a.test/", ()), ("https://b.test/", ())]


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ('type="rss" text="A"', "no address"),
        ('type="rss" text="A" xmlUrl=" "', "no address"),
        ('text="A" xmlUrl=""', "no address"),
        ('type="include" text="A" url="https://x.test/list.opml"', "another list"),
        ('type="link" text="A" url="https://x.test/"', "not a feed"),
    ],
)
def test_what_looks_like_a_feed_and_is_none_is_told_with_its_line(attributes: str, reason: str) -> None:
    opml = parse_opml(f'{HEAD}<outline {attributes}/>\n<outline xmlUrl="https://x.test/"/>{FOOT}'.encode())
    (passed,) = opml.passed
    assert (passed.line, passed.title) == (3, "A")
    assert reason in passed.reason
    assert len(opml.outlines) == 1


def test_an_empty_folder_is_nothing_to_tell() -> None:
    assert (
        parse_opml(f'{HEAD}<outline text="A"/><outline xmlUrl="https://x.test/"/>{FOOT}'.encode()).passed
        == []
    )


@pytest.mark.parametrize(("body", "title"), BROKEN)
def test_what_is_not_well_formed_is_read_all_the_same_and_told(body: str, title: str) -> None:
    opml = parse_opml(f"{HEAD}{body}{FOOT}".encode())
    assert [(one.url, one.title) for one in opml.outlines] == [("https://x.test/feed?a=1&copy=2", title)]
    assert opml.is_broken


def test_half_a_file_gives_what_is_there_with_its_folders() -> None:
    whole = (
        '<outline text="News"><outline text="A" xmlUrl="https://a.test/"/><outline text="B" xmlUrl="https://b'
    )
    opml = parse_opml((HEAD + whole).encode())
    assert [(one.url, one.tags) for one in opml.outlines] == [("https://a.test/", ("News",))]
    assert opml.is_broken


@pytest.mark.parametrize(
    "raw",
    [
        f'{HEAD}<outline text="Café" xmlUrl="https://x.test/"/>{FOOT}'.encode("latin-1"),
        f'{HEAD}<outline text="Café" xmlUrl="https://x.test/"/>{FOOT}'.replace("UTF-8", "cp1252").encode(
            "cp1252"
        ),
        f'{HEAD}<outline text="Café" xmlUrl="https://x.test/"/>{FOOT}'.replace("UTF-8", "nonsense").encode(),
        f'\n\n{HEAD}<outline text="Café" xmlUrl="https://x.test/"/>{FOOT}'.encode(),
        f'junk\n{HEAD}<outline text="Café" xmlUrl="https://x.test/"/>{FOOT}'.encode(),
        f'{HEAD}<outline text="Café" xmlUrl="https://x.test/"/>{FOOT}'.encode("utf-8-sig"),
        f'{HEAD}<outline text="Café" xmlUrl="https://x.test/"/>{FOOT}'.replace("UTF-8", "UTF-16").encode(
            "utf-16"
        ),
        f'{HEAD}<outline text="Café" xmlUrl="https://x.test/"/>{FOOT}'.encode("utf-16-le"),
    ],
    ids=["latin", "declared", "unknown", "blank lines", "junk", "bom", "utf-16", "utf-16 undeclared"],
)
def test_whatever_the_encoding_says_the_name_is_read(raw: bytes) -> None:
    assert [one.title for one in parse_opml(raw).outlines] == ["Café"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "empty"),
        (b" \r\n", "empty"),
        (b"<html><body>Log in</body></html>", "not an OPML file"),
        (b'{"feeds": []}', "not an OPML file"),
        (b"\x89PNG\r\n\x1a\n\0\0", "not an OPML file"),
        ((HEAD + '<outline text="A"/>' + FOOT).encode(), "no feeds"),
        (b" " * 5_000_001, "larger than 5 MB"),
    ],
)
def test_what_is_no_list_of_feeds_is_refused_in_a_sentence(body: bytes, said: str) -> None:
    with pytest.raises(OpmlError, match=said):
        parse_opml(body)


@pytest.mark.parametrize("foot", ["</body></opml>", ""], ids=["whole", "broken"])
def test_declared_entities_are_refused(foot: str) -> None:
    with pytest.raises(OpmlError, match="declares entities"):
        parse_opml((LAUGHS + foot).encode())


def test_more_feeds_than_anyone_has_are_refused() -> None:
    one = '<outline xmlUrl="https://x.test/"/>'
    assert len(outlines(one * MAX_FEEDS)) == MAX_FEEDS
    with pytest.raises(OpmlError, match="more than 10,000"):
        outlines(one * (MAX_FEEDS + 1))


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    some_now(
        [
            '<outline a="',
            "<outline ",
            "<outline a='\"",
            "<!--",
            "<title>",
            "&a",
            '<?xml encoding="',
            "a=",
            "x",
        ]
    ),
)
def test_no_five_megabytes_take_long(piece: str) -> None:
    body = ("<outline " + piece * (5_000_000 // len(piece)))[:5_000_000].encode()
    began = time.process_time()
    with pytest.raises(OpmlError):
        parse_opml(body)
    assert time.process_time() - began < 20, "this is linear: what is not takes hours"


@given(st.binary(max_size=300))
def test_no_bytes_raise_anything_but_the_one_error(body: bytes) -> None:
    for raw in (body, HEAD.encode() + body, b"<outline xmlUrl='" + body):
        with suppress(OpmlError):
            parse_opml(raw)


def written(*feeds: Listed, title: str = "Mine") -> str:
    return "".join(write_opml(feeds, title=title, created=WHEN))


def test_what_is_written_is_opml_2() -> None:
    root = ET.fromstring(written(Listed("https://a.test/", "A", "https://a.test", "en", ("News", "Tech"))))  # noqa: S314
    assert (root.tag, root.get("version")) == ("opml", "2.0")
    assert root.findtext("head/title") == "Mine"
    assert root.findtext("head/dateCreated") == "Mon, 02 Mar 2026 12:00:00 +0000"
    (folder,) = root.findall("body/outline")
    assert folder.attrib == {"text": "News", "title": "News"}
    (row,) = folder
    assert row.attrib == {
        "type": "rss",
        "text": "A",
        "title": "A",
        "xmlUrl": "https://a.test/",
        "htmlUrl": "https://a.test",
        "language": "en",
        "category": "News,Tech",
    }


def test_folders_come_in_order_and_what_has_no_tag_last() -> None:
    text = written(
        Listed("https://a.test/"),
        Listed("https://b.test/", tags=("b",)),
        Listed("https://c.test/", tags=("A",)),
    )
    assert [text.index(f"https://{name}.test/") for name in "cba"] == sorted(
        text.index(f"https://{name}.test/") for name in "abc"
    )


def tidy(text: str) -> str:
    return (
        " ".join("".join(char for char in text if char.isprintable()).split()).strip("/, ")[:80].strip("/, ")
    )


words = st.text(max_size=60).map(tidy)
tags = st.text(min_size=1, max_size=30).map(lambda text: tidy(text.replace(",", ""))).filter(bool)


@given(words, st.lists(tags, max_size=5, unique_by=str.casefold))
def test_title_and_all_tags_come_back(title: str, names: list[str]) -> None:
    listed = Listed("https://x.test/a?b=1&c=<2>", title, "https://x.test/", "en", tuple(names))
    opml = parse_opml(written(listed).encode())
    (found,) = opml.outlines
    assert (found.url, found.title, found.tags) == (listed.url, title, tuple(names))
    assert not opml.is_broken


def parsed(name: str) -> Opml:
    return parse_opml((FILES / name).read_bytes())


def test_miniflux_has_disabled_feeds_and_rules() -> None:
    river, gone, harbour = parsed("miniflux.opml").outlines
    assert (river.is_paused, gone.is_paused, harbour.is_paused) == (False, True, False)
    assert river.lost == "Not imported: blocklistRules, keepFilterEntryRules, userAgent, crawler."
    assert harbour.lost == "Not imported: ignoreHTTPCache, allowSelfSignedCertificates."
    assert gone.lost == ""


def test_freshrss_has_pages_made_into_feeds_linked_lists_and_secrets() -> None:
    opml = parsed("freshrss.opml.xml")
    assert [outline.title for outline in opml.outlines] == ["River", "JSON", "Cookie wall"]
    assert [(one.title, one.reason.partition(".")[0]) for one in opml.passed] == [
        ("Scraped", "FreshRSS makes this feed itself (html+xpath)"),
        ("Dots", "FreshRSS makes this feed itself (json+dotnotation)"),
        ("Shared list", "It links to another list: import that one separately"),
    ]
    river, _, wall = opml.outlines
    assert river.lost == "Not imported: filtersActionRead, cssFullContent."
    assert wall.url == "https://wall.example.org/rss"
    assert "CURLOPT_COOKIE, CURLOPT_HTTPHEADER" in wall.lost
    assert "secret" not in repr(opml).replace("may be secrets", "")
    assert {outline.folder for outline in opml.outlines} == {"News"}


def test_a_linked_list_keeps_the_feeds_that_are_in_it() -> None:
    body = (
        b'<opml xmlns:frss="https://freshrss.org/opml"><body><outline text="Shared" frss:opmlUrl="https://x.test/">'
        b'<outline xmlUrl="https://a.test/feed"/></outline></body></opml>'
    )
    opml = parse_opml(body)
    assert [outline.folder for outline in opml.outlines] == ["Shared"]
    assert len(opml.passed) == 1


def test_thunderbird_has_a_folder_a_feed_and_paused_ones() -> None:
    outlines = parsed("thunderbird.opml").outlines
    assert [(one.title, one.folder, one.tags, one.is_paused) for one in outlines] == [
        ("River", "Science", ("Science",), False),
        ("Harbour", "Science", ("Science",), True),
    ]


@pytest.mark.parametrize("name", ["feedly.opml", "netnewswire.opml"])
def test_others_add_nothing(name: str) -> None:
    opml = parsed(name)
    assert not any(outline.lost or outline.is_paused for outline in opml.outlines)
    assert opml.passed == []


@pytest.mark.parametrize("options", ["[" * 100_000, "{}", '{"updates":1}', '{"updates":{"enabled":0}}', "no"])
def test_odd_options_pause_nothing(options: str) -> None:
    assert not extras_of({"fz:options": options}).is_paused
