"""URLs that lead to the same post."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feeds.parsing.identity import PARAMETERS, canonical, link_hash, untracked


@pytest.mark.parametrize(
    "same",
    [
        "http://blog.example/a?b=1",
        "HTTPS://Blog.Example/a?b=1",
        "https://blog.example:443/a?b=1",
        "http://blog.example:80/a?b=1",
        "https://blog.example./a?b=1",
        "https://blog.example/a?b=1#comments",
        "https://blog.example/a?utm_source=x&b=1&fbclid=y",
        "https://blog.example/a?b=1&amp;utm_campaign=z",
        "  https://blog.example/a?b=1\n",
    ],
)
def test_it_leads_to_the_same_post(same: str) -> None:
    assert canonical(same) == "https://blog.example/a?b=1"
    assert link_hash(same) == link_hash("https://blog.example/a?b=1")


@pytest.mark.parametrize(
    "other",
    [
        "https://www.blog.example/a?b=1",
        "https://blog.example:8443/a?b=1",
        "https://blog.example/A?b=1",
        "https://blog.example/a/?b=1",
        "https://blog.example/a?b=2",
        "https://blog.example/a",
        "https://ada@blog.example/a?b=1",
    ],
)
def test_it_leads_somewhere_else(other: str) -> None:
    assert link_hash(other) != link_hash("https://blog.example/a?b=1")


def test_no_path_is_the_root_and_tracking_alone_is_no_query() -> None:
    assert canonical("https://e.org") == canonical("http://e.org/?gclid=1&mc_cid=2") == "https://e.org/"


@pytest.mark.parametrize(
    "odd", ["mailto:a@b.c", "http://[::1", "http://e.org:99999/", "//x", "post 7", "http://"]
)
def test_what_is_no_address_stays_as_it_is(odd: str) -> None:
    assert canonical(odd) == odd


def test_no_link_has_no_hash() -> None:
    assert link_hash("") == link_hash("  ") == ""
    assert len(link_hash("x")) == 32


@given(st.text(max_size=60) | st.text(alphabet="htps:/?#&=@[]. utm_", max_size=60))
def test_any_text_has_one_canonical_form(text: str) -> None:
    once = canonical(text)
    assert canonical(once) == once
    assert len(link_hash(text)) in (0, 32)


@pytest.mark.parametrize("name", [name.replace("*", "x") for name in PARAMETERS])
def test_each_tracking_parameter_is_taken_away_wherever_it_stands(name: str) -> None:
    for url in (
        f"https://e.org/?{name}=1&a=b",
        f"https://e.org/?a=b&{name.upper()}=",
        f"https://e.org/?a=b&{name}=1",
    ):
        assert untracked(url) == "https://e.org/?a=b"
    assert untracked(f"https://e.org/?my{name}=1") == f"https://e.org/?my{name}=1"


def test_in_html_ampersands_are_written_in_many_ways() -> None:
    for ampersand in ("&", "&amp;", "&#38;", "&#038;", "&#x26;"):
        tracked = f'<a href="/?utm_a=1{ampersand}b=2{ampersand}utm_c=3{ampersand}utm_d=4#x">why? utm_a=1</a>'
        assert untracked(tracked) == '<a href="/?b=2#x">why? utm_a=1</a>'


def test_a_megabyte_of_question_marks_costs_no_more_than_its_length() -> None:
    for piece in ("?", "?&", "?utm_", "&utm_a=", "?utm_a=1&", "&amp;"):
        assert len(untracked("?" + piece * 200_000)) <= 1 + len(piece) * 200_000
