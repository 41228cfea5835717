"""The Link header (RFC 8288)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feeds.parsing.discovery import MAX_HEADER_LINKS, links_of_header


@pytest.mark.parametrize(
    ("header", "links"),
    [
        ('<https://hub.example/>; rel="hub"', [("hub", "https://hub.example/")]),
        ("<https://hub.example/>;rel=hub", [("hub", "https://hub.example/")]),
        ('<a>; rel="self", <b>; rel=HUB', [("self", "a"), ("hub", "b")]),
        ('<a>; title="x, <y>; rel=no"; rel="hub self"', [("hub", "a"), ("self", "a")]),
        ('<a>; rel=first; rel="second"', [("first", "a")]),
        (r'<a>; title="a \" b"; rel=hub', [("hub", "a")]),
        ("<a>; crossorigin; rel=hub", [("hub", "a")]),
        ('<a>; rel="hub"; anchor="/other"', []),
        (" ,, <a>;rel=hub , ,<b>;rel=self", []),
        ("<a>", []),
        ("rel=hub", []),
        ("<a; rel=hub", []),
        ('<a>; rel="hub', []),
        ("", []),
    ],
)
def test_it_says_these_links(header: str, links: list[tuple[str, str]]) -> None:
    assert links_of_header(header) == links


def test_what_cannot_be_read_costs_only_the_links_behind_it() -> None:
    assert links_of_header("<a>; rel=hub, nonsense, <b>; rel=self") == [("hub", "a")]


def test_a_header_without_end_has_an_end() -> None:
    assert len(links_of_header("<a>; rel=hub, " * 100_000)) == MAX_HEADER_LINKS


@given(st.text(max_size=80) | st.text(alphabet='<>;,="\\ rel', max_size=80))
def test_any_text_is_a_header(text: str) -> None:
    for relation, target in links_of_header(text):
        assert relation == relation.lower().strip() != ""
        assert not set("<>") & set(target)
