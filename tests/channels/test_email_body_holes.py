"""A letter is encoded once around its placeholders: whatever fills them, it arrives unchanged."""

import re
from collections.abc import Mapping
from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from channels.email.body import Written, body
from channels.placeholders import fill_html, fill_text, written_html, written_text
from tests.channels.email_letters import NOW, compose_mail, letter, recipient

TOKENS = {"one": "\ue000one\ue001", "two": "\ue000two\ue001", "three": "\ue000three\ue001"}
TOKEN = re.compile("|".join(TOKENS.values()))
FIELD = {token: name for name, token in TOKENS.items()}
LINE_END = re.compile("\r\n|[\r\n\u2028\u2029]")
CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\n.", "\r\n..", "\n.\n"])
LONG = st.builds(
    lambda letters, length: (letters * length)[:length],
    st.sampled_from(["x", "ab ", "é", "日", "a=b", "-.", "<&>", "\t", "🦄a"]),
    st.integers(0, 2000) | st.integers(68, 80),
)
PROSE = st.text(st.sampled_from(" .=\t-_aZ9?é日\u2028\x85\x00\ufeff<>&\"'")) | st.text(max_size=30) | LONG
HOLES = st.sampled_from(list(TOKENS.values()))
CONTENTS = st.lists(PROSE | LINE_ENDS | HOLES, max_size=12).map("".join)
ASCII = st.lists(st.text(st.sampled_from(" .=\t-aZ9<&"), max_size=80) | LINE_ENDS | HOLES, max_size=20)
VALUES = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        TOKENS,
        st.sampled_from(
            ["", ".", "..", " ", " a", "a ", "=", "=20", "\n", "a\nb", "a\r\n.\r\n", "a\rb", "\x9b"]
        )
        | PROSE
        | st.text(st.sampled_from("abc:/?.~_%"), min_size=60, max_size=300),
    ),
)
WRITTEN: dict[str, Written] = {"plain": written_text, "html": written_html}


def with_crlf(text: str) -> str:
    return LINE_END.sub("\r\n", CONTROLS.sub("", text))


def expected(content: str, values: Mapping[str, str], written: Written) -> bytes:
    """Return the content with its placeholders filled. Mails end every line with CRLF."""
    filled = TOKEN.sub(lambda match: with_crlf(written(values.get(FIELD[match[0]], ""))), with_crlf(content))
    # The last line is checked before it is filled.
    ends = TOKEN.split(with_crlf(content))[-1].endswith("\r\n")
    return (filled if ends else f"{filled}\r\n").encode()


def octets(text: str, html: str, values: Mapping[str, str]) -> bytes:
    filled, _ = body(text, html, TOKENS, written_text=written_text, written_html=written_html).filled(values)
    return b"MIME-Version: 1.0\r\n" + b"".join(filled)


def parsed(data: bytes) -> EmailMessage:
    mail = message_from_bytes(data, policy=policy.default)
    assert isinstance(mail, EmailMessage)
    assert not mail.defects
    return mail


def decoded(mail: EmailMessage, kind: str) -> bytes:
    part = mail.get_body((kind,))
    assert part is not None
    assert not part.defects
    taken = part.get_payload(decode=True)
    assert isinstance(taken, bytes)
    return taken


def fits(data: bytes) -> None:
    """RFC 2045 §6.7 and §6.8: lines of 76; RFC 5321 §2.3.8: no CR and no LF but in CRLF."""
    assert max(map(len, data.split(b"\r\n"))) <= 76
    assert not re.search(rb"\r(?!\n)|(?<!\r)\n", data)
    assert data.endswith(b"\r\n")
    assert data.isascii()


@given(CONTENTS.filter(bool) | ASCII.map("".join).filter(bool), VALUES)
@example(TOKENS["one"], {"one": "a\nb"})
@example(TOKENS["one"] + TOKENS["two"], {"one": "a=\n", "two": "."})
@example("x" * 74 + " ", {})
@example("x" * 73 + " " + TOKENS["one"], {"one": "y" * 73 + " "})
@example("x" * 74 + " \n" + "\t" * 75, {})
@example("Dear " + TOKENS["one"] + ",\n", {"one": "Ada"})
@example("é" * 90 + TOKENS["one"] + "\n" + TOKENS["one"], {"one": "\r\n.\r\n"})
@pytest.mark.parametrize("kind", ["plain", "html"])
def test_a_part_says_what_was_written(kind: str, content: str, values: dict[str, str]) -> None:
    text, html = (content, "") if kind == "plain" else ("", content)
    data = octets(text, html, values)
    fits(data)
    mail = parsed(data)
    assert mail.get_content_type() == f"text/{kind}"
    assert decoded(mail, kind) == expected(content, values, WRITTEN[kind])


@given(CONTENTS.filter(bool), CONTENTS.filter(bool), VALUES)
def test_both_parts_of_a_letter_say_what_was_written(text: str, html: str, values: dict[str, str]) -> None:
    data = octets(text, html, values)
    fits(data)
    mail = parsed(data)
    assert [part.get_content_type() for part in mail.iter_parts()] == ["text/plain", "text/html"]
    assert decoded(mail, "plain") == expected(text, values, written_text)
    assert decoded(mail, "html") == expected(html, values, written_html)


@given(CONTENTS.filter(lambda content: "\r" not in content), VALUES)
def test_holes_are_filled_as_the_archive_and_the_other_channels_fill_them(
    content: str, values: dict[str, str]
) -> None:
    if content:
        for kind, fill in (("plain", fill_text), ("html", fill_html)):
            wanted = with_crlf(fill(content, TOKENS, values)).encode()
            got = decoded(
                parsed(octets(*((content, "") if kind == "plain" else ("", content)), values)), kind
            )
            assert got in (wanted, wanted + b"\r\n")


@given(CONTENTS | ASCII.map("".join), VALUES)
@example("At " + TOKENS["one"], {"one": "a" * 72 + ".b"})
@example("At " + TOKENS["one"] + ".", {})
def test_a_line_that_begins_with_a_dot_is_announced(content: str, values: dict[str, str]) -> None:
    """Only then are dots doubled in transit (RFC 5321 §4.5.2)."""
    filled, has_dots = body(
        content, content, TOKENS, written_text=written_text, written_html=written_html
    ).filled(values)
    assert has_dots or b"\n." not in b"".join(filled)


@given(CONTENTS, VALUES, VALUES)
def test_one_readers_values_are_not_in_the_letter_of_the_next(
    content: str, first: dict[str, str], second: dict[str, str]
) -> None:
    made = body(content, content, TOKENS, written_text=written_text, written_html=written_html)
    made.filled(first)
    again = body(content, content, TOKENS, written_text=written_text, written_html=written_html)
    assert made.filled(second) == again.filled(second)


@given(CONTENTS.filter(bool), CONTENTS.filter(bool), VALUES)
def test_a_whole_message_parses_back(text: str, html: str, values: dict[str, str]) -> None:
    made = compose_mail(
        letter(text=text, html=html, subject="For a reader", placeholders=TOKENS, has_own_code=True),
        recipient(params=values),
        site_host="letters.example.org",
    )
    data = made.dated(NOW)
    assert not re.search(rb"\r(?!\n)|(?<!\r)\n", data)
    assert max(map(len, data.split(b"\r\n"))) <= 998
    assert made.has_dots or b"\n." not in data
    mail = parsed(data)
    assert decoded(mail, "plain") == expected(text, values, written_text)
    assert decoded(mail, "html") == expected(html, values, written_html)
    assert (mail["Subject"], mail["To"]) == ("For a reader", "Ada Lovelace <Ada@example.test>")
    assert mail["Date"].datetime == NOW
    assert mail["List-Unsubscribe"] == "<https://letters.example.org/unsubscribe/abc123/>"


@given(VALUES)
def test_headers_hold_whatever_fills_them(values: dict[str, str]) -> None:
    made = compose_mail(
        letter(subject="".join(TOKENS.values()), placeholders=TOKENS, has_own_code=True),
        recipient(params=values, name=values.get("one", "")),
        site_host="letters.example.org",
    )
    head = made.dated(NOW).split(b"\r\n\r\n")[0]
    assert head.isascii()
    assert max(map(len, head.split(b"\r\n"))) <= 998
    names = re.findall(rb"(?m)^([!-9;-~]+):", head)
    assert len(names) == len(set(names)) == 18


def test_a_long_value_with_a_strange_letter_at_its_end_is_filled_at_once() -> None:
    """A pattern that tries all ways to split the words would never end."""
    values = {"name": "ab " * 2000 + "é"}
    made = body("Dear HOLE,\n", "", {"name": "HOLE"}, written_text=str, written_html=str)
    filled, _ = made.filled(values)
    assert b"=C3=A9" in b"".join(filled)
