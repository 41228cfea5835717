"""All encodings of parameters that clients use work, and each POST gets 200 with JSON."""

import contextlib
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from hypothesis import example, given
from hypothesis import strategies as st

from reader.entries.place import place_due
from reader.models import Reader
from reader.rules.parameters import BadParameters, read_parameters
from tests.examples import some_now
from tests.feeds.watched import Blog
from tests.reader.client import MicrosubClient

Given = dict[str, Any]
Sent = tuple[str, str, str]
FORM, JSON = "application/x-www-form-urlencoded", "application/json"
MULTIPART = "multipart/form-data; boundary=x"
NESTED = "".join(f"Content-Type: multipart/mixed; boundary=b{n}\r\n\r\n--b{n}\r\n" for n in range(2_000))


def pairs(given: Given, name: Callable[[str, int], str]) -> str:
    found = []
    for key, value in given.items():
        if isinstance(value, list):
            found += [(name(key, number), one) for number, one in enumerate(value)]
        else:
            found.append((key, value))
    return urlencode(found)


def form(given: Given) -> Sent:
    return pairs(given, lambda key, _: key), "", FORM


def brackets(given: Given) -> Sent:
    return pairs(given, lambda key, _: f"{key}[]"), "", FORM


def numbered(given: Given) -> Sent:
    return pairs(given, lambda key, number: f"{key}[{number}]"), "", FORM


def as_json(given: Given) -> Sent:
    return json.dumps(given), "", JSON


def in_the_query(given: Given) -> Sent:
    return "", pairs({**given, "before": ""}, lambda key, _: f"{key}[]"), FORM


def in_both(given: Given) -> Sent:
    body, _, kind = brackets(given)
    return body, urlencode({key: value for key, value in given.items() if isinstance(value, str)}), kind


ENCODINGS = (form, brackets, numbered, as_json, in_the_query, in_both)


@pytest.mark.django_db
@pytest.mark.parametrize("encode", some_now(ENCODINGS))
def test_a_whole_day(encode: Callable[[Given], Sent], blog: Blog, ada: Reader, api: MicrosubClient) -> None:
    def do(**given: Any) -> dict[str, Any]:
        body, query, kind = encode(given)
        status, answer = api.send(body, query, kind)
        assert status == 200, answer
        return answer

    blog.show("c", "b", "a")
    blog.watch()
    blog.read(0)
    made = do(action="channels", name="News")
    other = do(action="channels", name="Other")
    do(action="follow", channel=made["uid"], url=blog.feed.url)
    place_due()
    names = api.names(made["uid"])
    assert sorted(names) == ["Post a", "Post b", "Post c"]
    items = api.ask("timeline", channel=made["uid"])["items"]
    ids = [one["_id"] for one in items]
    marked = {"action": "timeline", "channel": made["uid"]}
    assert do(**marked, method="mark_read", entry=ids[:2])["updated"] == 2
    assert do(**marked, method="mark_unread", entry=ids[0])["updated"] == 1
    assert do(**marked, method="mark_read", last_read_entry=ids[-1])["updated"] == 1
    assert api.unread(made["uid"]) == 1
    assert do(**marked, method="remove", entry=[ids[1]])["updated"] == 1
    assert len(api.names(made["uid"])) == 2
    ordered = do(action="channels", method="order", channels=[made["uid"], other["uid"]])
    assert [one["uid"] for one in ordered["channels"]][:3] == ["notifications", made["uid"], other["uid"]]
    renamed = do(action="channels", channel=made["uid"], name="Old news")
    assert (renamed["uid"], renamed["name"]) == (made["uid"], "Old news")
    do(action="unfollow", channel=made["uid"], url=blog.feed.url)
    assert api.ask("follow", channel=made["uid"])["items"] == []
    assert do(action="channels", method="delete", channel=made["uid"]) == {"deleted": True}
    assert ada.channels.filter(uid=made["uid"]).count() == 0


def values(query: str = "", body: str = "", kind: str = FORM) -> dict[str, tuple[str, ...]]:
    return dict(read_parameters(query=query, body=body.encode(), content_type=kind).values)


def test_the_body_counts_before_the_query_and_an_empty_text_is_nothing() -> None:
    assert values("a=1&b=2&c=", "a=3&d=") == {"a": ("3",), "b": ("2",)}


def test_numbers_order_what_they_name() -> None:
    assert values(body="x[1]=b&x[0]=a&x[10]=c") == {"x": ("a", "b", "c")}


def test_json_has_lists_scalars_and_truths() -> None:
    body = '{"a": ["1", 2], "b": false, "c": null, "d[]": "x", "e": ""}'
    assert values(body=body, kind="application/json; charset=utf-8") == {
        "a": ("1", "2"),
        "b": ("false",),
        "d": ("x",),
    }


def test_what_no_database_takes_is_left_out() -> None:
    assert values("a=x%00y&b=%00") == {"a": ("xy",)}
    assert values(body='{"a": "x\\ud800y"}', kind=JSON) == {"a": ("xy",)}


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("[1]", JSON),
        ("{", JSON),
        ('{"a": {"b": 1}}', JSON),
        ("[" * 100_000, JSON),
        ("a=1&" * 1_001, FORM),
        ("a=1", "multipart/form-data; boundary=x"),
        (json.dumps({"a": list(range(1_001))}), JSON),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_sentence(body: str, kind: str) -> None:
    with pytest.raises(BadParameters) as caught:
        values(body=body, kind=kind)
    assert str(caught.value).endswith(".")


def multipart(*fields: tuple[str, str], more: str = "") -> str:
    parts = (
        f'--x\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n{value}\r\n'
        for name, value in fields
    )
    return "".join(parts) + "--x--\r\n"


def test_a_multipart_form_is_a_form() -> None:
    body = multipart(("a", "1"), ("b[]", "ä\r\nö"), ("b[]", "2"), ("c", ""))
    assert values(body=body, kind=MULTIPART) == {"a": ("1",), "b": ("ä\r\nö", "2")}
    assert values(body=multipart(("a", "1"), more='; filename="x.png"'), kind=MULTIPART) == {}


def test_a_client_may_post_a_multipart_form(ada: Reader) -> None:
    api = MicrosubClient(ada)
    answer = Client().post(
        "/microsub/ada",
        {"action": "channels", "name": "News"},
        headers={"Authorization": f"Bearer {api.key}"},
    )
    assert answer.json()["name"] == "News"


@pytest.mark.slow
@given(
    st.binary(max_size=200) | st.text(max_size=200).map(lambda text: multipart(("a", text)).encode()),
    st.text(max_size=50),
    st.sampled_from([FORM, JSON, "", MULTIPART, "multipart/form-data", 'multipart/form-data; boundary=" "']),
)
@example(f"--x\r\n{NESTED}".encode(), "", MULTIPART)
def test_nothing_else_is_ever_raised(body: bytes, query: str, kind: str) -> None:
    with contextlib.suppress(BadParameters):
        found = read_parameters(query=query, body=body, content_type=kind)
        assert all(found.values.values())
