"""Micropub requests to one's own site, and the meaning of its responses."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reader.rules.micropub import (
    LOOKS_UP_AFTER,
    MOST_TARGETS,
    MOST_TRIES,
    PROPERTY,
    WRITTEN_KINDS,
    Config,
    Said,
    Target,
    as_form,
    as_json,
    categories_of,
    cleaned,
    config_of,
    find_posted,
    fitting,
    lacks,
    next_look_up,
    next_try,
)

ENDPOINT = "https://ada.example/micropub"
POST = "https://bob.example/a-post"
ASKED = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
SAIDS = st.builds(
    Said,
    kind=st.sampled_from([*WRITTEN_KINDS, "", "evil"]),
    url=st.sampled_from(["", POST, "javascript:alert(1)"]) | st.text(max_size=50),
    name=st.text(max_size=50),
    content=st.text(max_size=200),
    rsvp=st.sampled_from(["", "yes", "x"]),
    categories=st.lists(st.text(max_size=20), max_size=5).map(tuple),
    visibility=st.sampled_from(["", "private", "x"]),
    targets=st.lists(st.text(max_size=20), max_size=5).map(tuple),
)


@given(SAIDS)
def test_what_is_kept_is_what_is_sent_and_comes_back_the_same(said: Said) -> None:
    once = cleaned(said)
    assert cleaned(once) == once
    assert Said.from_json(once.to_json()) == once


@given(
    SAIDS, st.lists(st.sampled_from(["https://ada.example/a.jpg", "https://ada.example/b.jpg"]), max_size=3)
)
def test_the_form_and_the_json_say_the_same(said: Said, photos: list[str]) -> None:
    said = fitting(cleaned(said))
    found: dict[str, list[str]] = {}
    for name, value in parse_qsl(urlencode(as_form(said, photos)), keep_blank_values=True):
        assert name.count("[") == name.count("[]"), "category[0] is no Micropub"
        found.setdefault(name.removesuffix("[]"), []).append(value)
    assert found.pop("h") == ["entry"]
    assert found == as_json(said, [(url, "") for url in photos])["properties"]


@given(SAIDS)
def test_what_lacks_nothing_names_what_it_is_about(said: Said) -> None:
    said = fitting(cleaned(said))
    if not lacks(said, photos=0):
        properties = as_json(said)["properties"]
        assert properties.keys() & {"content", "name", *PROPERTY.values()}
        if said.kind in PROPERTY:
            assert properties[PROPERTY[said.kind]][0].startswith(("https://", "http://"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ()),
        ("a, b", ("a", "b")),
        (" #a ,, a,b c ", ("a", "b c")),
        ("\n", ()),
        (",".join("x" * 30), ("x",)),
    ],
)
def test_tags_stand_between_commas(text: str, found: tuple[str, ...]) -> None:
    assert categories_of(text) == found


@pytest.mark.parametrize(
    ("media", "used"),
    [
        ("https://ada.example/media", "https://ada.example/media"),
        ("/media", "https://ada.example/media"),
        ("https://evil.example/media", ""),
        ("http://ada.example/media", ""),
        ("https://ada.example:8443/media", ""),
        ("https://ada.example@evil.example/", ""),
        ("javascript:alert(1)", ""),
        (7, ""),
        (None, ""),
    ],
)
def test_only_the_sites_own_server_is_its_media_endpoint(media: Any, used: str) -> None:
    assert config_of({"media-endpoint": media}, ENDPOINT) == Config(used)


@pytest.mark.parametrize(
    ("listed", "targets"),
    [
        (None, ()),
        ("x", ()),
        ([{"uid": "a", "name": "A"}, {"uid": "a", "name": "B"}], (Target("a", "B"),)),
        (["a", {"uid": "b"}, {"name": "c"}, 7, {"uid": 7}], (Target("a", "a"), Target("b", "b"))),
        ([{"uid": "x" * 2_000}], ()),
    ],
)
def test_targets_are_read_whatever_a_site_says(listed: Any, targets: tuple[Target, ...]) -> None:
    assert config_of({"syndicate-to": listed}, ENDPOINT).targets == targets


def test_targets_are_bounded() -> None:
    assert len(config_of({"syndicate-to": [str(n) for n in range(1000)]}, ENDPOINT).targets) == MOST_TARGETS


def an_item(**properties: Any) -> dict[str, Any]:
    usual = {"content": ["Hello."], "published": [ASKED.isoformat()], "url": ["https://ada.example/1"]}
    return {"type": ["h-entry"], "properties": {**usual, **properties}}


@pytest.mark.parametrize(
    "item",
    [
        an_item(),
        an_item(content=[{"html": "<p>Hello.</p>", "value": "Hello."}]),
        an_item(content=[{"html": "<p>Hello.</p>"}]),
        an_item(content=["Hello.\n"]),
        an_item(published=[(ASKED - timedelta(minutes=9)).isoformat()]),
        {"content": "Hello.", "published": ASKED.isoformat(), "url": "https://ada.example/1"},
    ],
)
def test_what_stands_among_the_newest_posts_was_posted(item: dict[str, Any]) -> None:
    assert find_posted([7, {}, item], Said(content="Hello."), since=ASKED) == "https://ada.example/1"


@pytest.mark.parametrize(
    "item",
    [
        an_item(content=["Hello, all."]),
        an_item(published=[(ASKED - timedelta(hours=1)).isoformat()]),
        an_item(published=[]),
        an_item(published=["soon"]),
        {"properties": 7},
        [],
    ],
)
def test_what_says_something_else_or_is_older_is_another_post(item: Any) -> None:
    assert find_posted([item], Said(content="Hello."), since=ASKED) is None


@pytest.mark.parametrize("kind", PROPERTY)
def test_what_is_about_a_post_is_found_by_that(kind: str) -> None:
    said = fitting(Said(kind=kind, url=POST, content="Hello.", rsvp="yes"))
    properties = as_json(said)["properties"]
    assert find_posted([an_item(**properties)], said, since=ASKED) == "https://ada.example/1"
    other = replace(said, url=f"{POST}-2")
    assert find_posted([an_item(**properties)], other, since=ASKED) is None


def test_a_post_without_an_address_is_there_all_the_same() -> None:
    assert find_posted([an_item(url=[])], Said(content="Hello."), since=ASKED) == ""


def test_waits_grow_and_end() -> None:
    waits = [next_try(number, chance=0.5) for number in range(1, MOST_TRIES)]
    assert waits == sorted(waits, key=lambda wait: wait.total_seconds() if wait else 0)
    assert next_try(MOST_TRIES) is None
    assert next_try(1, wish=timedelta(days=9), chance=0.5) == timedelta(hours=1)
    assert [next_look_up(number) for number in range(4)] == [*LOOKS_UP_AFTER, None]
