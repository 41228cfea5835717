"""iffy:hint-announce, in RSS, Atom and JSON Feed."""

import json
from typing import Any

import pytest

from feeds.parsing.document import parse
from feeds.parsing.entry import ParsedFeed
from tests.servers.documents import atom, rss

NAMESPACE = "http://tech.interfluidity.com/xml/iffy/"


def hint(policy: str, restriction: str | None = None, *, prefix: str = "iffy") -> str:
    inside = f"<{prefix}:policy>{policy}</{prefix}:policy>"
    if restriction is not None:
        inside += f"<{prefix}:restriction>{restriction}</{prefix}:restriction>"
    return f"<{prefix}:hint-announce>{inside}</{prefix}:hint-announce>"


def read(*hints: str, uri: str = NAMESPACE, prefix: str = "iffy", write: Any = rss) -> ParsedFeed:
    body = write([{"guid": "1", "title": "One", "description": "x", "extra": "".join(hints)}, {"guid": "2"}])
    name = b"<feed" if write is atom else b"<rss"
    declared = f' xmlns:{prefix}="{uri}"'.encode()
    return parse(body.replace(name, name + declared, 1), content_type="", url="https://e.org/")


def announce(feed: ParsedFeed) -> str:
    first, second = feed.entries
    assert second.announce == ""
    assert (first.title, first.html) == ("One", "x")
    return first.announce


@pytest.mark.parametrize("write", [rss, atom])
@pytest.mark.parametrize(
    ("policy", "read_as"),
    [
        ("Always", ""),
        ("Never", "never"),
        ("NEVER", "never"),
        (" piggyback\n", "piggyback"),
        ("Piggyback", "piggyback"),
    ],
)
def test_a_policy_is_read_in_any_case(write: Any, policy: str, read_as: str) -> None:
    feed = read(hint(policy), write=write)
    assert (announce(feed), feed.warnings) == (read_as, ())


@pytest.mark.parametrize(
    "uri",
    [
        NAMESPACE,
        NAMESPACE.rstrip("/"),
        NAMESPACE.replace("http:", "https:"),
        "http://tech.interfluidity.com/xml/iffy/1.1",
    ],
)
@pytest.mark.parametrize("prefix", ["iffy", "i"])
def test_the_namespace_counts_and_not_its_prefix(uri: str, prefix: str) -> None:
    assert announce(read(hint("Never", prefix=prefix), uri=uri, prefix=prefix)) == "never"


def test_another_namespace_says_nothing() -> None:
    assert announce(read(hint("Never", prefix="other"), uri="http://other.example/", prefix="other")) == ""


def test_the_namespace_may_be_the_elements_own() -> None:
    own = f'<hint-announce xmlns="{NAMESPACE}"><policy>Never</policy></hint-announce>'
    assert announce(read(own)) == "never"


def test_only_the_first_unrestricted_hint_counts() -> None:
    assert announce(read(hint("Never", "mastodon"), hint("Piggyback"), hint("Never"))) == "piggyback"
    assert announce(read(hint("Never", ""))) == ""
    assert announce(read("<iffy:hint-announce/>", hint("Never"))) == "never"


def test_an_unknown_policy_is_always_and_said_of_the_feed() -> None:
    feed = read(hint("Sometimes"), hint("Never"))
    assert announce(feed) == ""
    assert len(feed.warnings) == 1
    assert "“sometimes”" in feed.warnings[0]


def test_the_patient_parser_reads_it_too() -> None:
    feed = read(hint("Never") + "<b>")
    assert feed.entries[0].announce == "never"
    assert "not well-formed" in feed.warnings[0]


def test_a_hint_of_the_channel_is_none_of_its_posts() -> None:
    body = rss([{"guid": "1"}], extra=hint("Never")).replace(
        b"<rss", f'<rss xmlns:iffy="{NAMESPACE}"'.encode(), 1
    )
    assert parse(body, content_type="", url="").entries[0].announce == ""


@pytest.mark.parametrize(
    ("extension", "read_as"),
    [
        ({"hint_announce": {"policy": "Never"}}, "never"),
        ({"hint_announce": [{"policy": "Never", "restriction": "x"}, {"policy": "PIGGYBACK"}]}, "piggyback"),
        ({"hint_announce": "Never"}, ""),
        ({"hint_announce": {"policy": 7}}, ""),
        ("Never", ""),
        (None, ""),
    ],
)
def test_json_feed_has_it_as_an_extension(extension: Any, read_as: str) -> None:
    item = {"id": "1", "_iffy": extension}
    body = json.dumps({"version": "https://jsonfeed.org/version/1", "items": [item]}).encode()
    assert parse(body, content_type="", url="").entries[0].announce == read_as


def test_an_unknown_policy_in_json_is_said_too() -> None:
    item = {"id": "1", "_iffy": {"hint_announce": {"policy": "Sometimes"}}}
    body = json.dumps({"version": "https://jsonfeed.org/version/1", "items": [item]}).encode()
    assert "“sometimes”" in parse(body, content_type="", url="").warnings[0]
