"""Real feeds, each with its oddity (tests/fixtures/feeds)."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from feeds.parsing.document import parse
from feeds.parsing.entry import Entry, Media, ParsedFeed, ParseError

FOLDER = Path(__file__).parents[2] / "fixtures" / "feeds"


def read(name: str) -> ParsedFeed:
    return parse((FOLDER / name).read_bytes(), content_type="text/xml", url="https://u.example/x/feed")


def only(name: str) -> Entry:
    (entry,) = read(name).entries
    return entry


def test_mastodon_describes_pictures_and_that_is_not_the_post() -> None:
    entry = only("mastodon.rss")
    assert entry.html == "<p>A picture of the <b>garden</b>.</p>"
    assert entry.media == (Media("https://files.example/garden.jpg", "image/jpeg", 2048, "Roses & a bench"),)


def test_youtube_has_its_text_in_the_description_of_the_video() -> None:
    entry = only("youtube.atom")
    assert (entry.summary, entry.image) == ("All about 1 &lt; 2.", "https://video.example/abc.jpg")
    assert (entry.title, entry.authors) == ("How it works", ("Example Channel",))


def test_wordpress_escapes_twice_and_puts_the_category_in_two_times() -> None:
    entry = only("wordpress.rss")
    assert (read("wordpress.rss").title, entry.title) == ("Tea & Code", "It’s a new year")
    assert (entry.authors, entry.categories) == (("Grace",), ("News", "Tea"))
    assert entry.published == datetime(2025, 12, 31, 23, 0, tzinfo=UTC)
    assert (entry.guid, entry.link) == ("https://tea.example/?p=7", "https://tea.example/new-year/")
    assert entry.summary == "<p>Short [&#8230;]</p>"


def test_feedburner_hides_the_link_of_the_post() -> None:
    assert only("feedburner.rss").link == "https://burned.example/one"


def test_rss_1_0_has_its_items_outside_and_one_date() -> None:
    entry = only("rss10.rdf")
    assert (entry.guid, entry.authors) == ("https://rdf.example/1", ("Tim",))
    assert entry.published == datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)


def test_rss_0_91_has_a_doctype_without_entities_and_no_guids() -> None:
    entry = only("rss091-doctype.xml")
    assert (entry.guid, entry.title) == ("feedletter-synthetic:https://cafe.example/1", "Crème")
    assert entry.summary == "Brûlée"


def test_xml_base_and_literal_titles_of_atom() -> None:
    feed = read("xml-base.atom")
    first, second = feed.entries
    assert (feed.title, feed.language) == ("1 < 2", "de")
    assert (first.title, first.link) == ("Use <br> wisely", "https://base.example/blog/2026/one")
    assert first.content == "<p>Hello <em>you</em></p>"
    assert (second.title, second.link) == ("Bold", "https://base.example/ids/2")
    assert (second.content, second.summary) == ("<p>a &lt; b</p><p>next</p>", "")


def test_a_podcast_has_its_picture_and_each_file_once() -> None:
    entry = only("podcast.rss")
    assert entry.image == "https://pod.example/1.png"
    assert entry.media == (Media("https://pod.example/1.mp3", "audio/mpeg", 12345),)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("utf16.xml", "Grüße"),
        ("said-latin-is-utf8.xml", "Grüße — 你好"),
        ("php-warning.xml", "Read all the same"),
        ("blank-lines-bom.xml", "Read all the same"),
        ("unescaped-ampersand.xml", "Salt & pepper"),
        ("truncated.xml", "Whole"),
    ],
)
def test_it_is_read_all_the_same(name: str, title: str) -> None:
    assert read(name).entries[0].title == title


@pytest.mark.parametrize("name", ["php-warning.xml", "unescaped-ampersand.xml", "truncated.xml"])
def test_what_is_wrong_is_said(name: str) -> None:
    assert len(read(name).warnings) == 1


def test_a_page_is_refused() -> None:
    with pytest.raises(ParseError, match="This address is a web page"):
        read("page.html")


def test_entities_that_unfold_are_never_unfolded() -> None:
    feed = read("billion-laughs.xml")
    assert (feed.title, feed.guids) == ("&c;", ("1",))
