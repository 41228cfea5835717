"""The limit of processor time for a document.

Parsing and planning compared to bare feedparser, as `make bench` measures it.
"""

import json
import time

import pytest

from bench.parsing import parsing
from feeds.parsing.document import parse
from feeds.parsing.entry import TOO_DEAR, ParseError, check_allowance, cpu_limit
from tests.examples import NIGHTLY
from tests.servers.documents import atom, rss

TRIES = 5
POSTS = [{"guid": str(number), "title": "A"} for number in range(50)]
ENTRY = "<div class=h-entry><a class=u-url href=/{}>x</a></div>"
DOCUMENTS = {
    "RSS": rss(POSTS),
    "Atom": atom(POSTS),
    "broken": rss(POSTS).replace(b"</title>", b"</b></title>"),
    "JSON": json.dumps({"items": [{"id": one["guid"], "content_text": "x"} for one in POSTS]}).encode(),
    "a page": f"<html>{''.join(ENTRY.format(number) for number in range(50))}".encode(),
}


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Install a clock that advances by a second at each look; return the looks."""
    looks: list[int] = []

    def clock() -> float:
        looks.append(1)
        return float(len(looks))

    monkeypatch.setattr(time, "thread_time", clock)
    return looks


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_that_takes_too_long_is_refused_with_a_sentence(name: str, seconds: list[int]) -> None:
    with pytest.raises(ParseError) as refused:
        parse(DOCUMENTS[name], content_type="", url="https://x.example/")
    assert str(refused.value) == TOO_DEAR.format(20)
    assert len(seconds) == 22, "it ends with the first look after the last second"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_one_that_does_not_is_read(name: str) -> None:
    assert len(parse(DOCUMENTS[name], content_type="", url="https://x.example/").guids) == 50


def test_without_an_allowance_nothing_is_counted() -> None:
    check_allowance()
    with cpu_limit(0.0, iter([0.0, 0.0, 1.0]).__next__):
        check_allowance()
        with pytest.raises(ParseError):
            check_allowance()
    check_allowance()


@NIGHTLY
def test_reading_a_large_feed_costs_at_most_three_tenths_more_than_bare_feedparser() -> None:
    """Other load may spoil a measurement: one good one is proof enough."""
    for _ in range(TRIES):
        ratio = parsing()["ratio"]
        assert isinstance(ratio, float)
        if ratio >= 1 / 1.3:
            return
    pytest.fail(f"{ratio:.2f} of what bare feedparser does")
