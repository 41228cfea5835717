"""Request fields accept only what the schema describes, without DRF's conversions."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.utils.datastructures import MultiValueDict
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.exceptions import ValidationError

from common.api.fields import (
    LARGEST,
    Choice,
    Fields,
    Flag,
    Moment,
    Parameters,
    Pattern,
    StrictInteger,
    Text,
    Texts,
    read_parameters,
)


class Body(Fields):
    text = Text(max_length=5, required=False)
    name = Pattern("^[a-z]{1,3}$", "Three letters.", required=False)
    number = StrictInteger(max_value=9, required=False)
    key = StrictInteger(required=False)
    flag = Flag(required=False)
    word = Choice(choices=("one", "two"), required=False)
    at = Moment(required=False)
    texts = Texts(longest=3, most=2, required=False)


class Asked(Parameters):
    number = StrictInteger(max_value=9, required=False)
    flag = Flag(required=False)


def wrong(body: Any) -> list[str]:
    given = Body(data=body)
    return [] if given.is_valid() else list(given.errors)


@pytest.mark.parametrize(
    "body",
    [
        {"text": 7},
        {"text": True},
        {"text": None},
        {"text": ""},
        {"text": "sixsix"},
        {"text": "a\0"},
        {"name": "abc\n"},
        {"name": "ABC"},
        {"number": "7"},
        {"number": True},
        {"number": 7.5},
        {"number": float("inf")},
        {"number": -1},
        {"number": 10},
        {"key": LARGEST + 1},
        {"flag": "true"},
        {"flag": 1},
        {"flag": "yes"},
        {"word": "three"},
        {"word": 1},
        {"word": ["one"]},
        {"at": "2026-03-01"},
        {"at": "2026-03-01T07:00:00"},
        {"at": "2026-03-01 07:00:00Z"},
        {"at": "2026-02-30T07:00:00Z"},
        {"at": "9999-12-31T23:59:59-01:00"},
        {"at": 1},
        {"texts": {"a": "four"}},
        {"texts": {"a": 1}},
        {"texts": {"": "x"}},
        {"texts": {"a": "", "b": "", "c": ""}},
        {"texts": []},
        {"strange": 1},
    ],
)
def test_what_is_not_as_described_is_refused_at_its_field(body: dict[str, Any]) -> None:
    assert wrong(body) == list(body)


def test_what_is_as_described_is_taken_as_it_is() -> None:
    given = Body(
        data={
            "text": " a ",
            "name": "abc",
            "number": 7.0,
            "key": LARGEST,
            "flag": False,
            "word": "two",
            "at": "2026-03-01T07:00:00.5+01:00",
            "texts": {"a": ""},
        }
    )
    assert given.is_valid(), given.errors
    assert given.validated_data == {
        "text": " a ",
        "name": "abc",
        "number": 7,
        "key": LARGEST,
        "flag": False,
        "word": "two",
        "at": datetime(2026, 3, 1, 6, 0, 0, 500_000, tzinfo=UTC),
        "texts": {"a": ""},
    }


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=5,
    ),
    st.sampled_from(["text", "name", "number", "key", "flag", "word", "at", "texts"]),
)
def test_no_json_at_all_breaks_a_field(value: Any, name: str) -> None:
    wrong({name: value})
    wrong(value)


@pytest.mark.parametrize("text", ["x", "", "-1", "10", "1.0", " 7", "７", "1e3", "9" * 40, "\0"])
def test_a_parameter_that_is_no_such_number_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        read_parameters(Asked, MultiValueDict({"number": [text]}))


def test_parameters_are_known_and_given_once() -> None:
    assert read_parameters(Asked, MultiValueDict({"number": ["7"], "flag": ["true"]})) == {
        "number": 7,
        "flag": True,
    }
    with pytest.raises(ValidationError, match="Give it once"):
        read_parameters(Asked, MultiValueDict({"number": ["7", "8"]}))
    with pytest.raises(ValidationError, match="There are: number, flag"):
        read_parameters(Asked, MultiValueDict({"nunber": ["7"]}))
    with pytest.raises(ValidationError):
        read_parameters(Asked, MultiValueDict({"flag": ["1"]}))
