"""The choice of a parser, and documents that no parser reads."""

from contextlib import suppress

import pytest

from feeds.parsing.entry import ParseError
from feeds.parsing.format import MAX_BODY, MAX_DECLARATIONS, MAX_PROLOG_STEPS, Form, form_of, mend, tidied

RSS = b"<rss><channel><title>A</title></channel></rss>"


def test_a_document_beyond_all_bounds_is_seen_by_no_parser() -> None:
    assert form_of(RSS + b" " * (MAX_BODY - len(RSS))) is Form.XML
    with pytest.raises(ParseError, match="larger than 10 MB"):
        form_of(RSS + b" " * MAX_BODY)


def test_a_beginning_without_end_is_no_feed() -> None:
    comments = b"<!-- -->" * MAX_PROLOG_STEPS
    assert form_of(comments[8:] + RSS) is Form.XML
    with pytest.raises(ParseError):
        form_of(comments + RSS)


@pytest.mark.parametrize(
    "subset",
    [b"<!ELEMENT rss ANY>" * (MAX_DECLARATIONS + 1) + b"]>", b"<!ELEMENT rss ANY>", b"<!-- never closed"],
)
def test_a_doctype_that_does_not_end_hides_no_entities(subset: bytes) -> None:
    kept = b""
    with suppress(ParseError):
        kept, _ = tidied(b"<!DOCTYPE rss [" + subset + b'<!ENTITY a "aaaaaaaa">' + RSS)
    assert kept in (b"", b"\n" + RSS)


def test_entities_of_a_document_without_elements_are_refused() -> None:
    with pytest.raises(ParseError):
        tidied(b'<!ENTITY a "aaaaaaaa">')


def test_halves_of_an_emoji_are_joined_and_others_are_left_out() -> None:
    assert mend(b"&#xD83D;&#xDC1D; &#55357;&#56349;") == b"&#128029; &#128029;"
    assert mend(b"&#xD83D;&#xD83D;!") == b"!"
