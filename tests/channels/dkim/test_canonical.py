"""Relaxed canonicalization, compared to dkimpy's."""

import pytest
from dkim.canonicalization import Relaxed
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.email.dkim.signing import relaxed_body, relaxed_fields, split_message
from tests.examples import examples

PIECES = st.sampled_from(
    [b" ", b"  ", b"\t", b"\r\n", b"a", b".", b"\xc3\xa9", b"=", b"\x0c", b" \r\n", b"\r", b"\n"]
)
bodies = st.lists(PIECES, max_size=60).map(b"".join)
values = st.lists(st.sampled_from([b" ", b"\t", b"\r\n ", b"\r\n\t", b"a", b":", b"\xc3\xa9"]), max_size=30)


@pytest.mark.parametrize(
    ("body", "form"),
    [
        # RFC 6376 §3.4.5, §3.4.4, and the empty body, whose relaxed form is empty.
        (b" C \r\nD \t E\r\n\r\n\r\n", b" C\r\nD E\r\n"),
        (b"", b""),
        (b"\r\n", b""),
        (b" \t\r\n\r\n \r\n", b""),
        (b"no line end", b"no line end\r\n"),
        (b"a\r\n\r\nb\r\n", b"a\r\n\r\nb\r\n"),
    ],
)
def test_a_body_is_relaxed_as_the_rfc_says(body: bytes, form: bytes) -> None:
    assert relaxed_body(body) == form


def test_fields_are_relaxed_as_the_rfc_says() -> None:
    head = b"A: X\r\nB : Y\t\r\n\tZ  "
    assert relaxed_fields(head) == [(b"a", b"X"), (b"b", b"Y Z")]


def test_a_form_feed_is_no_white_space() -> None:
    assert relaxed_fields(b"A: \x0cX\x0b ") == [(b"a", b"\x0cX\x0b")]


@given(bodies)
@settings(max_examples=examples(500))
def test_bodies_come_out_as_from_dkimpy(body: bytes) -> None:
    # As in SMTP: dkimpy handles a last line without an ending differently.
    body += b"\r\n" if body else b""
    assert relaxed_body(body) == Relaxed.canonicalize_body(body)


@given(values.map(b"".join))
@settings(max_examples=examples(500))
def test_fields_come_out_as_from_dkimpy(value: bytes) -> None:
    ((name, theirs),) = Relaxed.canonicalize_headers([(b"Subject \t", value)])
    assert relaxed_fields(b"Subject \t:" + value) == [(name, theirs.removesuffix(b"\r\n"))]


@given(bodies)
def test_relaxing_twice_changes_nothing(body: bytes) -> None:
    assert relaxed_body(relaxed_body(body)) == relaxed_body(body)


def test_a_message_without_a_body_is_all_header() -> None:
    assert split_message(b"A: b\r\n\r\n") == (b"A: b", b"")
    assert relaxed_fields(split_message(b"A: b\r\n")[0]) == [(b"a", b"b")]
