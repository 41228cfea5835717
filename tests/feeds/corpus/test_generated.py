"""Generated documents that are too large to store."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from feeds.parsing.document import parse
from feeds.parsing.entry import ParsedFeed, ParseError
from tests.feeds.corpus.documents import URL
from tests.servers.documents import atom, rss

FIRST = datetime(2026, 1, 1, tzinfo=UTC)
THOUSAND = [
    {"guid": f"g{n}", "title": f"Post {n}", "published": FIRST + timedelta(hours=n)} for n in range(1_000)
]


def read(body: bytes) -> ParsedFeed:
    return parse(body, content_type="", url=URL)


def jsonfeed() -> bytes:
    items = [{"id": item["guid"], "date_published": str(item["published"])} for item in THOUSAND]
    return json.dumps(
        {"version": "https://jsonfeed.org/version/1.1", "title": "Long", "items": items}
    ).encode()


@pytest.mark.parametrize("body", [rss(THOUSAND), atom(THOUSAND), jsonfeed()], ids=["rss", "atom", "json"])
def test_of_a_thousand_posts_all_guids_are_known_and_the_newest_are_read(body: bytes) -> None:
    feed = read(body)
    assert feed.guids == tuple(f"g{n}" for n in range(1_000))
    assert [entry.guid for entry in feed.entries] == [f"g{n}" for n in range(500, 1_000)]
    assert len(feed.warnings) == 1
    assert "1000 posts" in feed.warnings[0].replace(",", "")


def test_content_ten_thousand_elements_deep_is_read() -> None:
    content = "<div>" * 10_000 + "bottom" + "</div>" * 10_000
    (entry,) = read(rss([{"guid": "1", "content": content}])).entries
    assert "bottom" in entry.content


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_json_a_hundred_thousand_deep_is_refused(opening: str) -> None:
    with pytest.raises(ParseError, match="JSON"):
        read(f'{{"version": "https://jsonfeed.org/version/1", "x": {opening * 100_000}'.encode())


def test_a_number_of_a_hundred_thousand_digits_is_no_obstacle() -> None:
    body = (
        b'{"version": "https://jsonfeed.org/version/1", "items": [{"id": "1", "size": '
        + b"9" * 100_000
        + b"}]}"
    )
    assert read(body).guids == ("1",)
