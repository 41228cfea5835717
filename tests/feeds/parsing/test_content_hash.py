"""A post is the same until what it says changes."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from feeds.parsing.content_hash import content_hash
from feeds.parsing.document import parse
from feeds.parsing.entry import Entry, Media
from tests.servers.documents import rss

ENTRY = Entry(guid="1", title="One", link="https://e.org/1", authors=("Ada",), content="<p>x</p>")


@pytest.mark.parametrize(
    "change",
    [
        {"title": "Two"},
        {"authors": ("Ada", "Grace")},
        {"link": "https://e.org/2"},
        {"content": "<p>y</p>"},
        {"summary": "short"},
        {"media": (Media("https://e.org/a.png", alt="a cat"),)},
        {"categories": ("News",)},
        {"title": "", "link": "One"},
    ],
)
def test_what_a_post_says_is_in_its_hash(change: dict[str, Any]) -> None:
    assert content_hash(replace(ENTRY, **change)) != content_hash(ENTRY)


@pytest.mark.parametrize(
    "change",
    [
        {"published": datetime(2026, 1, 1, tzinfo=UTC)},
        {"updated": datetime(2026, 1, 1, tzinfo=UTC)},
        {"guid": "2"},
    ],
)
def test_dates_and_guid_are_not(change: dict[str, Any]) -> None:
    assert content_hash(replace(ENTRY, **change)) == content_hash(ENTRY)


def test_the_channel_is_not() -> None:
    def hashed(title: str, extra: str) -> str:
        body = rss([{"guid": "1", "title": "One"}], title=title, extra=extra)
        return content_hash(parse(body, content_type="", url="https://e.org/").entries[0])

    assert hashed("A", "") == hashed("B", "<lastBuildDate>Mon, 04 May 2026 09:00:00 GMT</lastBuildDate>")


def test_the_hash_names_its_version_and_survives_odd_characters() -> None:
    assert content_hash(replace(ENTRY, title="\ud800"))[:2] == "1:"
    assert len(content_hash(ENTRY)) == 66
    assert content_hash(Entry.from_json(ENTRY.to_json())) == content_hash(ENTRY)
