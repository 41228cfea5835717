"""Placeholders of letters, and what fills them.

A letter is encoded once around its placeholders: whatever fills them, it arrives unchanged.
"""

import re
from collections.abc import Mapping
from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from channels.email.body import Written, body
from channels.letter import Letter, Recipient
from channels.placeholders import (
    BUILT_IN,
    Placeholders,
    UnknownField,
    field_names,
    fill_header,
    fill_html,
    fill_text,
    values_for,
    written_html,
    written_text,
)
from tests.channels.email_letters import NOW, compose_mail, letter, recipient
from tests.delivery.rendering.samples import entry

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
BODY_HOLES = st.sampled_from(list(TOKENS.values()))
CONTENTS = st.lists(PROSE | LINE_ENDS | BODY_HOLES, max_size=12).map("".join)
ASCII = st.lists(st.text(st.sampled_from(" .=\t-aZ9<&"), max_size=80) | LINE_ENDS | BODY_HOLES, max_size=20)
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
HOLES = {"toemail": "hAAAA00001x", "tonickname": "hAAAA00002x"}


def some_letter(**changes: object) -> Letter:
    given: dict = {
        "kind": "issue",
        "newsletter": "valley",
        "title": "T",
        "subject": "S",
        "html": "",
        "text": "",
        "token": "t",
        "from_email": "Valley <valley@example.org>",
    }
    return Letter(**{**given, **changes})


def some_reader(name: str = "") -> Recipient:
    return Recipient(
        delivery_id=1,
        core="ada@example.net",
        label="Ada@example.net",
        name=name,
        unsubscribe_url="https://l.example/u/",
        manage_url="https://l.example/m/",
    )


def test_every_built_in_field_has_a_value() -> None:
    assert set(values_for(some_letter(), some_reader())) == {name.lower() for name in BUILT_IN}


def test_the_recipient_with_and_without_a_name() -> None:
    named, nameless = values_for(some_letter(), some_reader("Ada")), values_for(some_letter(), some_reader())
    assert (named["to"], named["tofull"]) == ("Ada <Ada@example.net>", "Ada <Ada@example.net>")
    assert (named["tonickname"], named["tonicknameoremail"]) == ("Ada", "Ada")
    assert (nameless["to"], nameless["tonickname"]) == ("Ada@example.net", "")
    assert nameless["tonicknameoremail"] == "Ada@example.net"


def test_a_name_with_commas_and_quotes_is_written_in_quotes() -> None:
    assert values_for(some_letter(), some_reader('Love, "Ada"'))["to"] == r'"Love, \"Ada\"" <Ada@example.net>'


def test_links_are_the_recipients_own() -> None:
    values = values_for(some_letter(archive_url="https://l.example/a/"), some_reader())
    assert values["removelink"] == "https://l.example/u/"
    assert values["managelink"] == "https://l.example/m/"
    assert values["weblink"] == values["archivelink"] == "https://l.example/a/"


def test_without_an_archive_the_only_post_is_where_to_read_it() -> None:
    assert values_for(some_letter(entries=(entry(1),)), some_reader())["weblink"] == "https://blog.example/1"
    assert values_for(some_letter(entries=(entry(1), entry(2))), some_reader())["weblink"] == ""


def test_an_extra_parameter_is_a_field_and_a_built_in_wins_unless_blank() -> None:
    params = {"Motto": "Rain", "toEmail": "other@example.org", "replyTo": "answers@example.org"}
    values = values_for(some_letter(params=params), some_reader())
    assert values["motto"] == "Rain"
    assert values["toemail"] == "Ada@example.net"
    assert values["replyto"] == "answers@example.org"


def test_an_unknown_field_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(UnknownField, match=r"no field %Nonsense%.*%toEmail%.*%Motto%"):
        Placeholders({"Motto": "x"}).token("Nonsense")


def test_field_names_keep_the_writing_of_their_owner() -> None:
    names = field_names({"Motto": "x", "TOEMAIL": "y"})
    assert names["motto"] == "Motto"
    assert names["toemail"] == "toEmail"


def test_values_are_escaped_in_html_and_in_its_attributes() -> None:
    filled = fill_html(
        '<a href="hAAAA00001x">hAAAA00002x</a>', HOLES, {"toemail": '"><b', "tonickname": "<i>"}
    )
    assert filled == '<a href="&quot;&gt;&lt;b">&lt;i&gt;</a>'


def test_a_field_without_a_value_is_empty() -> None:
    assert fill_text("[hAAAA00001x]", HOLES, {}) == "[]"


def test_a_value_is_never_looked_at_again() -> None:
    values = {"toemail": r"hAAAA00002x %ToNickname% $1 \1 \g<0>", "tonickname": "Ada"}
    assert fill_text("hAAAA00001x", HOLES, values) == values["toemail"]


def test_a_value_stays_on_its_line_of_text() -> None:
    assert fill_text("To hAAAA00001x.", HOLES, {"toemail": "a\r\nBcc: b\x00\u2028c"}) == "To a Bcc: b c."


def test_a_header_is_one_line_whatever_is_in_it() -> None:
    filled = fill_header("Hello\nhAAAA00002x", HOLES, {"tonickname": "Eve\r\nBcc: all@example.org"})
    assert filled == "Hello Eve Bcc: all@example.org"


@given(st.text())
def test_no_value_gets_markup_or_line_breaks_through(value: str) -> None:
    assert not set("<>\"'") & set(fill_html("hAAAA00001x", HOLES, {"toemail": value}))
    assert len(fill_text("hAAAA00001x", HOLES, {"toemail": value}).splitlines()) <= 1


@given(st.text(max_size=50), st.text(max_size=50))
def test_what_is_no_hole_stays_as_it_is(before: str, value: str) -> None:
    placeholders = Placeholders({})
    token = placeholders.token("toEmail")
    assert fill_html(f"{before}{token}", placeholders.used, {"toemail": ""}) == before
    assert fill_html(before, placeholders.used, {"toemail": value}) == before


def test_tokens_are_letters_and_digits_and_differ_from_letter_to_letter() -> None:
    one, other = Placeholders({"Extra": "1"}), Placeholders({"Extra": "1"})
    tokens = [
        placeholders.token(field) for placeholders in (one, other) for field in ("to", "toEmail", "extra")
    ]
    assert len(set(tokens)) == 6
    assert all(token.isalnum() and token.isascii() and len(token) > 20 for token in tokens)
    assert len({len(token) for token in tokens}) == 1


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
