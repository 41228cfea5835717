"""Whether a page links to a URL, and the kind of mention."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feeds.parsing.entry import Entry, Social
from reader.rules.mentions import (
    MOST_LOOKS,
    comparable,
    html_links_to,
    is_within,
    json_links_to,
    kind_towards,
    next_look,
    text_links_to,
)

TARGET = "https://letters.example/@ada/"
PAGE = "https://blog.example/2026/a-post"


@pytest.mark.parametrize(
    "markup",
    [
        f"<a href='{TARGET}'>Ada</a>",
        f'<A HREF="{TARGET}">Ada</A>',
        f"<a class='u-in-reply-to' href={TARGET}></a>",
        f"<img src='{TARGET}'>",
        f"<img srcset='/small.png 1x, {TARGET} 2x'>",
        f"<blockquote cite='{TARGET}'>She said</blockquote>",
        f"<object data='{TARGET}'></object>",
        f"<video poster='{TARGET}'></video>",
        "<a href='HTTPS://Letters.Example:443/@ada/#me'>Ada</a>",
        "<base href='https://letters.example/x/'><a href='../@ada/'>Ada</a>",
        "<a href='//letters.example/@ada/'>Ada</a>",
        f"<p><a href='{TARGET}'>never closed",
    ],
)
def test_an_element_that_leads_there_is_a_link(markup: str) -> None:
    assert html_links_to(f"<!doctype html><body>{markup}", TARGET, url=PAGE)


@pytest.mark.parametrize(
    "markup",
    [
        "",
        TARGET,
        f"<p>{TARGET}</p>",
        f"<!-- <a href='{TARGET}'>Ada</a> -->",
        f"<!-- <a href='{TARGET}'>Ada</a>",
        f"<script>document.write(\"<a href='{TARGET}'>\")</script>",
        f"<style>a {{ background: url({TARGET}) }}</style>",
        f"<textarea><a href='{TARGET}'>Ada</a></textarea>",
        f"<template><a href='{TARGET}'>Ada</a></template>",
        "<a href='https://letters.example/@ada/more'>a page beneath</a>",
        "<a href='https://letters.example/@ad'>a beginning</a>",
        "<a href='https://letters.example/@adas/'>somebody else</a>",
        "<a href='https://letters.example/@ada/?x=1'>another query</a>",
        "<a href='https://letters.example.org/@ada/'>another host</a>",
        "<a href='http://letters.example/@ada/'>another scheme</a>",
        f"<a href='https://blog.example/?to={TARGET}'>a way there</a>",
        f"<a title='{TARGET}' href='/'>a title</a>",
        f"&lt;a href='{TARGET}'&gt;",
    ],
)
def test_what_only_looks_like_a_link_is_none(markup: str) -> None:
    assert not html_links_to(f"<!doctype html><body>{markup}", TARGET, url=PAGE)


@pytest.mark.parametrize("text", [TARGET, f"See {TARGET}.", f"({TARGET})\n", f'"{TARGET}",', f"<{TARGET}>"])
def test_a_text_links_by_a_whole_word(text: str) -> None:
    assert text_links_to(text, TARGET)


@pytest.mark.parametrize(
    "text", ["", "Ada", f"x{TARGET}", f"{TARGET}2", f"to={TARGET}", "letters.example/@ada/"]
)
def test_a_text_does_not_link_by_a_part_of_a_word(text: str) -> None:
    assert not text_links_to(text, TARGET)


@pytest.mark.parametrize("document", [TARGET, [TARGET], {"a": {"b": [1, None, {"c": TARGET}]}}])
def test_json_links_by_a_whole_value(document: object) -> None:
    assert json_links_to(json.dumps(document), TARGET)


@pytest.mark.parametrize(
    "body", ["", "{", "[" * 100_000, json.dumps({"a": f"see {TARGET}"}), json.dumps({TARGET: 1})]
)
def test_json_links_neither_by_a_name_nor_by_a_part_nor_where_it_is_broken(body: str) -> None:
    assert not json_links_to(body, TARGET)


@given(st.text())
def test_no_document_breaks_it(text: str) -> None:
    assert not html_links_to(f"<a href='{text}'>", TARGET, url=PAGE) or "letters.example" in text.lower()
    comparable(text)
    text_links_to(text, TARGET)
    json_links_to(text, TARGET)


@pytest.mark.parametrize(
    ("url", "is_own"),
    [
        (TARGET, True),
        ("https://letters.example/@ada", True),
        ("https://letters.example/@ada/#x", True),
        ("https://LETTERS.example/@ada/notes?x=1", True),
        ("https://letters.example/@adam", False),
        ("https://letters.example/", False),
        ("https://letters.example.evil/@ada/", False),
        ("https://ada@letters.example:8443/@ada/", False),
        ("javascript:alert(1)", False),
        ("", False),
    ],
)
def test_a_page_and_what_lies_beneath_is_ones_own(url: str, is_own: bool) -> None:
    assert is_within(url, [TARGET, ""]) is is_own


@pytest.mark.parametrize(
    ("relations", "rsvp", "kind"),
    [
        ((), "", "mention"),
        ((("in-reply-to", TARGET),), "", "reply"),
        ((("in-reply-to", TARGET),), "yes", "rsvp"),
        ((("like-of", f"{TARGET}#x"),), "", "like"),
        ((("repost-of", TARGET), ("like-of", TARGET)), "", "repost"),
        ((("bookmark-of", TARGET),), "", "bookmark"),
        ((("like-of", "https://other.example/"),), "", "mention"),
        ((("like-of", "https://other.example/"), ("in-reply-to", TARGET)), "", "reply"),
    ],
)
def test_the_kind_is_what_is_done_with_the_target(
    relations: tuple[tuple[str, str], ...], rsvp: str, kind: str
) -> None:
    post = Entry("", social=Social(relations=relations, rsvp=rsvp))
    assert kind_towards(TARGET, post) == kind


def test_a_server_that_is_down_is_asked_less_and_less_and_then_no_more() -> None:
    waits = [next_look(number, chance=0.5) for number in range(1, MOST_LOOKS)]
    assert waits == sorted(waits, key=lambda wait: wait.total_seconds() if wait else 0)
    assert next_look(MOST_LOOKS) is None
