"""JSON Feed, and other JSON. (Odd ones of real feeds: tests/fixtures/feeds/odd/versions.)"""

import contextlib
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feeds.parsing.document import parse
from feeds.parsing.entry import Channel, Entry, Media, ParsedFeed, ParseError

URL = "https://blog.example/feed.json"
VERSION = "https://jsonfeed.org/version/1.1"
FULL = {
    "id": "tag:1",
    "url": "/one",
    "external_url": "https://elsewhere.example/",
    "title": "One & <b>two</b>",
    "content_html": "<p>Long</p>",
    "content_text": "Long",
    "summary": "Short & plain",
    "image": "/one.png",
    "banner_image": "/banner.png",
    "date_published": "2026-05-04T09:00:00+02:00",
    "date_modified": "2026-05-05T09:00:00Z",
    "authors": [{"name": "Ada"}, {"name": "Grace", "url": "https://grace.example/"}],
    "tags": ["News", "Tea"],
    "language": "de-CH",
    "attachments": [
        {"url": "/one.mp3", "mime_type": "audio/mpeg", "size_in_bytes": 1234, "title": "The episode"},
        {"url": "/one.mp3", "mime_type": "audio/x-other"},
    ],
}
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*FULL, "name", "href", "_iffy", "hint_announce", "policy"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


def written(items: list[Any], **head: Any) -> bytes:
    return json.dumps({"version": VERSION, "title": "Example", "items": items, **head}).encode()


def read(body: bytes, **more: Any) -> ParsedFeed:
    return parse(body, content_type="application/feed+json", url=URL, **more)


def only(item: dict[str, Any], **head: Any) -> Entry:
    (entry,) = read(written([item], **head)).entries
    return entry


def refusal(body: bytes) -> str:
    with pytest.raises(ParseError) as caught:
        read(body)
    return str(caught.value)


def test_every_field_of_an_item_is_read() -> None:
    assert only(FULL) == Entry(
        guid="tag:1",
        title="One & <b>two</b>",
        link="https://blog.example/one",
        authors=("Ada", "Grace"),
        content="<p>Long</p>",
        summary="<p>Short &amp; plain</p>",
        published=datetime(2026, 5, 4, 7, 0, tzinfo=UTC),
        updated=datetime(2026, 5, 5, 9, 0, tzinfo=UTC),
        categories=("News", "Tea"),
        media=(Media("https://blog.example/one.mp3", "audio/mpeg", 1234, "The episode"),),
        language="de-CH",
        image="https://blog.example/one.png",
    )


def test_every_field_of_the_feed_is_read() -> None:
    hubs = [{"type": "rssCloud", "url": "https://c.example"}, {"type": "WebSub", "url": "/hub"}, "hub", {}]
    feed = read(
        written(
            [],
            home_page_url="/",
            feed_url="/me.json",
            icon="/i.png",
            favicon="/f.ico",
            hubs=hubs,
            language="en",
        )
    )
    assert (feed.title, feed.link, feed.language) == ("Example", "https://blog.example/", "en")
    assert feed.channel == Channel(
        hubs=("https://blog.example/hub",),
        topic="https://blog.example/me.json",
        image="https://blog.example/i.png",
    )


def test_text_becomes_paragraphs() -> None:
    assert only({"id": "1", "content_text": "a < b\nc\n\nd"}).content == "<p>a &lt; b<br>c</p><p>d</p>"


def test_html_that_shows_nothing_gives_way_to_text_or_summary() -> None:
    empty = {"id": "1", "content_html": "<p>&nbsp;</p>", "summary": "b"}
    assert only({**empty, "content_text": "a"}).html == "<p>a</p>"
    assert only(empty).html == "<p>b</p>"


def test_titles_that_were_escaped_are_decoded() -> None:
    assert only({"id": "1", "title": "D&#39;accord"}).title == "D'accord"
    assert only({"id": "1", "title": "<b> &amp;"}).title == "<b> &amp;"


def test_the_link_is_the_items_page_else_the_one_it_is_about_else_its_id() -> None:
    about = {"id": "https://blog.example/1", "external_url": "https://elsewhere.example/"}
    assert only(about).link == "https://elsewhere.example/"
    assert only({"id": "https://blog.example/1"}).link == "https://blog.example/1"
    assert only({"id": "one"}).link == ""


def test_a_number_is_an_id_and_nothing_else() -> None:
    assert read(written([{"id": 7, "url": 8, "title": 9, "tags": [10]}])).entries == (Entry(guid="7"),)


def test_a_number_of_a_hundred_thousand_digits_is_an_id_like_any_other() -> None:
    body = b'{"version": "%s", "items": [{"id": %s}]}' % (VERSION.encode(), b"9" * 100_000)
    (guid,) = read(body).guids
    assert len(guid) < 200
    assert read(body).guids == (guid,)


def test_identity_is_the_id_else_the_link_else_title_and_date() -> None:
    items = [
        {"id": " a ", "title": "twice"},
        {"url": "https://blog.example/b"},
        {"title": "c", "date_published": "2026-05-04"},
        {"title": "c", "date_published": "2026-05-05"},
        {"content_text": "nothing to tell it by"},
        {"id": "a", "title": "twice"},
    ]
    feed = read(written(items))
    assert feed.guids[:2] == ("a", "feedletter-synthetic:https://blog.example/b")
    assert len(set(feed.guids)) == 4
    assert "1 post with the guid of an earlier one" in feed.warnings[0]
    assert "1 post without guid" in feed.warnings[1]


def test_version_1_0_has_one_author_and_some_feeds_have_only_a_name() -> None:
    assert only({"id": "1", "author": {"name": "Ada"}}).authors == ("Ada",)
    assert only({"id": "1", "authors": [], "author": "Ada"}).authors == ("Ada",)
    assert only({"id": "1", "authors": ["Ada", 7, None, {}]}).authors == ("Ada",)


def test_items_without_them_have_the_authors_and_the_language_of_the_feed() -> None:
    entry = only({"id": "1"}, authors=[{"name": "Ada"}], language="fr")
    assert (entry.authors, entry.language) == (("Ada",), "fr")


def test_what_is_no_item_is_passed_over_with_a_warning() -> None:
    feed = read(written([{"id": "1"}, "two", 3, None]))
    assert feed.guids == ("1",)
    assert feed.warnings == ("3 posts could not be read, being no JSON objects.",)


@pytest.mark.parametrize("items", [None, {}, "none", 7])
def test_items_that_are_no_list_are_none(items: Any) -> None:
    assert read(written(items)).guids == ()


def test_a_feed_without_version_is_read_when_its_items_have_content() -> None:
    feed = read(json.dumps({"items": [{"id": "1", "content_html": "x"}]}).encode())
    assert feed.guids == ("1",)
    assert "version" in feed.warnings[0]


@pytest.mark.parametrize(
    "body", [b'{"posts": []}', b"[[]]", b'{"items": [{"id": 1}]}', b'["a"]', b'{"version": 2}']
)
def test_other_json_is_refused_by_name(body: bytes) -> None:
    assert "no JSON Feed" in refusal(body)


@pytest.mark.parametrize("body", [b'{"version": ', b'{"a" 1}', b"[" + b'["' * 99, b'{"a":' * 99_999])
def test_json_that_is_broken_or_bottomless_is_refused(body: bytes) -> None:
    assert "not well-formed" in refusal(body)


def test_what_follows_the_feed_is_passed_over_with_a_warning() -> None:
    feed = read(written([{"id": "1"}]) + b"\n<!-- 17 queries -->")
    assert (feed.guids, len(feed.warnings)) == (("1",), 1)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_it_is_read_in_any_encoding(encoding: str) -> None:
    body = f'{{"version": "{VERSION}", "items": [{{"id": "1", "title": "Grüße"}}]}}'
    feed = read(body.encode(encoding))
    assert feed.entries[0].title == "Grüße"
    assert len(feed.warnings) == (encoding == "cp1252")


def test_line_ends_in_texts_and_names_that_are_there_twice_do_no_harm() -> None:
    body = b'{"version": "%s", "items": [{"id": "1", "id": "2", "title": "a\nb"}]}' % VERSION.encode()
    assert [(entry.guid, entry.title) for entry in read(body).entries] == [("2", "a b")]


def test_halves_of_characters_and_nul_are_left_out() -> None:
    entry = only({"id": "a\0\ud800", "title": "b\0\udfff", "content_html": "c\0\ud800"})
    assert (entry.guid, entry.title, entry.content) == ("a", "b", "c")


def test_the_newest_items_are_read_in_full() -> None:
    items = [{"id": str(day), "date_published": f"2026-05-{day:02}"} for day in range(1, 11)]
    feed = read(written(items), limit=3)
    assert (len(feed.guids), [entry.guid for entry in feed.entries]) == (10, ["8", "9", "10"])


def test_a_feed_that_has_ended_says_so() -> None:
    assert "ended" in read(written([], expired=True)).warnings[0]


@pytest.mark.parametrize(
    ("document", "shown"),
    [
        ({"type": "Person", "url": "https://m.example/@ada"}, "https://m.example/@ada.rss"),
        ({"type": "Service", "url": [{"href": "https://m.example/@bot"}]}, "https://m.example/@bot.rss"),
        ({"type": "Person", "url": "javascript:alert(1)"}, "https://mastodon.example/@ada.rss"),
        ({"type": "Note", "url": "https://m.example/@ada/1"}, "https://mastodon.example/@ada.rss"),
        ({"type": ["Note"]}, "https://mastodon.example/@ada.rss"),
    ],
)
def test_activity_pub_is_called_by_its_name_with_the_address_of_the_feed(
    document: dict[str, Any], shown: str
) -> None:
    for context in ("https://www.w3.org/ns/activitystreams", ["https://www.w3.org/ns/activitystreams", {}]):
        text = refusal(json.dumps({"@context": context, **document}).encode())
        assert "ActivityPub" in text
        assert shown in text
        assert ("an actor" in text) == (document["type"] in ("Person", "Service"))


@given(st.dictionaries(st.sampled_from(["title", "items", "hubs", "authors", "@context", "type"]), ANY_JSON))
def test_any_json_is_a_feed_or_the_one_error(document: dict[str, Any]) -> None:
    with contextlib.suppress(ParseError):
        feed = read(json.dumps({"version": VERSION, **document}).encode())
        assert len(feed.guids) >= len(feed.entries)
