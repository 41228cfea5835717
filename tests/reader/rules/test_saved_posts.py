"""Saved posts of FreshRSS, Feedbin and others in Google Reader's form."""

import json
from pathlib import Path
from typing import Any

import pytest

from reader.rules.saved_posts import EmptyPosts, SavedPostsError, is_json, parse_saved

FILES = Path(__file__).parents[2] / "fixtures" / "migrations" / "opml"


def test_freshrss_has_feeds_ids_and_states() -> None:
    fifth, sixth = parse_saved((FILES / "freshrss-starred_2026-11-20.json").read_bytes())
    assert fifth.feed_url == "https://blog.example.org/river.xml"
    assert fifth.guid == fifth.link == "https://blog.example.org/river/5/"
    assert (fifth.is_read, fifth.is_starred) == (True, True)
    assert (sixth.is_read, sixth.is_starred) == (False, True)
    assert fifth.came_at == "2025-11-20T08:00:00+00:00"
    assert fifth.post.authors == ("Ada Byron",)


def test_feedbin_has_links() -> None:
    fifth, note = parse_saved((FILES / "feedbin-starred.json").read_bytes())
    assert (fifth.feed_url, fifth.guid, fifth.link) == ("", "", "https://blog.example.org/river/5/")
    assert (note.title, note.author, note.is_starred, note.is_read) == ("", "", True, True)
    assert note.post.published is not None


def google(**item: Any) -> bytes:
    return json.dumps({"id": "user/1/state/com.google/starred", "items": [item]}).encode()


def test_others_have_the_feed_in_the_stream_and_no_id() -> None:
    (one,) = parse_saved(
        google(
            origin={"streamId": "feed/https://a.test/feed"},
            alternate=[{"href": "https://a.test/1"}],
            summary={"content": "<p>Hi</p>"},
            timestampUsec="1763625600000000",
        )
    )
    assert (one.feed_url, one.link, one.html) == ("https://a.test/feed", "https://a.test/1", "<p>Hi</p>")
    assert (one.is_starred, one.is_read) == (True, True)
    assert one.came_at == "2025-11-20T08:00:00+00:00"


@pytest.mark.parametrize(
    "item",
    [
        {"title": 1, "canonical": "x", "origin": [], "categories": {}, "published": "never"},
        {"canonical": [{"href": "javascript:alert(1)"}], "origin": {"feedUrl": "file:///etc/passwd"}},
        {"crawlTimeMsec": "9" * 100, "published": -1e300, "canonical": [None], "categories": [1, None]},
    ],
)
def test_odd_values_are_left_out(item: dict[str, Any]) -> None:
    (one,) = parse_saved(google(**item))
    assert (one.feed_url, one.link, one.title, one.published) == ("", "", "", "")


@pytest.mark.parametrize("body", [b"{", b"[" * 100_000, b"\xff", b"[" + b"[]," * 600_000 + b"[]]"])
def test_what_cannot_be_read_is_refused(body: bytes) -> None:
    with pytest.raises(SavedPostsError):
        parse_saved(body)


@pytest.mark.parametrize("body", [b"{}", b"[]", b'{"items":{}}', b'{"items":[]}'])
def test_no_posts_are_told(body: bytes) -> None:
    with pytest.raises(EmptyPosts):
        parse_saved(body)


def test_json_is_recognised_by_its_beginning() -> None:
    assert is_json(b"\xef\xbb\xbf\n [")
    assert not is_json(b"<opml>")
