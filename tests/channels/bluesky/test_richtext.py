"""Facets cover whole characters of the UTF-8 text, and only links and tags."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.bluesky.message import fits_post, rich_text, shown_link
from channels.http.links import postable
from common.truncation import FittingPart
from tests.servers.services.bluesky import check_facets

Facet = tuple[int, int, str]


def found(*parts: FittingPart, hashtags: tuple[str, ...] = (), is_own: bool = False) -> list[Facet]:
    """Return start, end, and link or tag of each facet."""
    _, facets = rich_text(parts, hashtags, is_own=is_own)
    return [
        (
            facet["index"]["byteStart"],
            facet["index"]["byteEnd"],
            facet["features"][0].get("uri") or facet["features"][0]["tag"],
        )
        for facet in facets
    ]


def test_places_are_counted_in_octets() -> None:
    words = FittingPart("Žluť 🦄 #bees https://e.com/ä")
    assert found(words) == [(12, 17, "bees"), (18, 34, "https://e.com/ä")]


def test_a_title_has_no_links_and_no_hashtags_but_its_posts() -> None:
    title = FittingPart("#bees and #wasps at https://evil.example @bot.example", cuttable=True)
    assert found(title, hashtags=("Bees",)) == [(0, 5, "bees")]


def test_the_newsletters_own_words_have_links_and_hashtags() -> None:
    words = FittingPart("See https://a.example/x, (https://b.example) #now #7", cuttable=True)
    places = [place for _, _, place in found(words, is_own=True)]
    assert places == ["https://a.example/x", "https://b.example", "now"]


def test_a_hashtag_that_was_cut_is_none() -> None:
    tags = FittingPart("#" + "a" * 299 + "#b", cuttable=True)
    assert found(tags, hashtags=("a" * 299,), is_own=True) == []


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("https://www.e.com/", "e.com"),
        ("https://e.com/a?b=c", "e.com/a?b=c"),
        ("https://e.com/" + "a" * 40, "e.com/" + "a" * 34 + "…"),
    ],
)
def test_links_are_shown_short(link: str, shown: str) -> None:
    assert shown_link(link) == shown


def test_halves_of_characters_and_controls_are_left_out() -> None:
    text, _ = rich_text([FittingPart("a\ud83db\x00c\nd")], ())
    assert text == "abc\nd"


links = st.text(max_size=400).map(lambda rest: postable(f"https://e.example/{rest}"))


@given(st.lists(st.text(max_size=300), max_size=4), links, st.lists(st.text(max_size=20), max_size=3))
def test_any_words_fit_with_facets_on_whole_letters(words: list[str], link: str, tags: list[str]) -> None:
    parts = [*(FittingPart(text, cuttable=True) for text in words), FittingPart(link, link=link)]
    text, facets = rich_text(parts, tags, is_own=True)
    assert fits_post(text)
    check_facets(text.encode(), facets)
    last = facets[-1]
    assert last["features"][0]["uri"] == link
    assert text.encode()[last["index"]["byteStart"] :].decode() == shown_link(link)
