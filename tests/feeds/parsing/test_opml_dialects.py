"""Additions to OPML by other programs: paused feeds, rules, pages made into feeds, secrets."""

from pathlib import Path

import pytest

from feeds.parsing.opml import Opml, extras_of, parse_opml

FILES = Path(__file__).parents[2] / "fixtures" / "migrations" / "opml"


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
