"""Every odd document is parsed as its index says (see tests/fixtures/feeds/odd/README.md)."""

import pytest
from _pytest.mark import ParameterSet

from feeds.parsing.document import parse
from feeds.parsing.entry import ParsedFeed, ParseError
from tests.feeds.corpus.differences import FEED_KEYS, OTHER_KEYS, differences
from tests.feeds.corpus.documents import URL, Document, documents, files


def parameter(document: Document) -> ParameterSet:
    reason = document.expected.get("xfail")
    marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
    return pytest.param(document, id=document.name, marks=marks)


def read(document: Document) -> ParsedFeed | ParseError:
    try:
        return parse(document.body, content_type=document.content_type, url=URL)
    except ParseError as error:
        return error


@pytest.mark.parametrize("document", [parameter(document) for document in documents()])
def test_it_comes_out_as_described(document: Document) -> None:
    found, expected = read(document), document.expected
    if "never" in expected:
        assert expected["never"] not in repr(found)
    if "error" in expected:
        assert isinstance(found, ParseError), f"read as {found}"
        assert expected["error"] in str(found)
    elif not isinstance(found, ParseError):
        assert differences(found, expected) == []
    else:
        assert set(expected) <= OTHER_KEYS - {"xfail"}, f"refused: {found}"


def test_every_document_is_described_and_every_description_has_its_document() -> None:
    assert sorted(document.name for document in documents()) == files()


def test_every_description_says_what_is_odd_and_what_must_come_out() -> None:
    for document in documents():
        assert str(document.expected.get("odd", "")).endswith("."), document.name
        assert set(document.expected) <= FEED_KEYS | OTHER_KEYS, document.name
        assert set(document.expected) & (FEED_KEYS | {"error", "never"}), document.name


def test_there_are_at_least_sixty_documents_and_hardly_any_is_long() -> None:
    assert len(documents()) >= 60
    assert [document.name for document in documents() if len(document.body) > 10_000] == []


def test_no_refusal_is_longer_than_two_sentences_or_shows_the_inside_of_the_program() -> None:
    refusals = [str(found) for found in map(read, documents()) if isinstance(found, ParseError)]
    assert refusals
    for text in refusals:
        assert text.endswith(".")
        assert text.count(". ") <= 2
        assert not any(word in text for word in ("Traceback", "Exception", "object at 0x", "feedparser"))
