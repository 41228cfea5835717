import pytest
from hypothesis import given
from hypothesis import strategies as st

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
)
from tests.delivery.rendering.samples import entry

HOLES = {"toemail": "hAAAA00001x", "tonickname": "hAAAA00002x"}


def letter(**changes: object) -> Letter:
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


def recipient(name: str = "") -> Recipient:
    return Recipient(
        delivery_id=1,
        core="ada@example.net",
        label="Ada@example.net",
        name=name,
        unsubscribe_url="https://l.example/u/",
        manage_url="https://l.example/m/",
    )


def test_every_built_in_field_has_a_value() -> None:
    assert set(values_for(letter(), recipient())) == {name.lower() for name in BUILT_IN}


def test_the_recipient_with_and_without_a_name() -> None:
    named, nameless = values_for(letter(), recipient("Ada")), values_for(letter(), recipient())
    assert (named["to"], named["tofull"]) == ("Ada <Ada@example.net>", "Ada <Ada@example.net>")
    assert (named["tonickname"], named["tonicknameoremail"]) == ("Ada", "Ada")
    assert (nameless["to"], nameless["tonickname"]) == ("Ada@example.net", "")
    assert nameless["tonicknameoremail"] == "Ada@example.net"


def test_a_name_with_commas_and_quotes_is_written_in_quotes() -> None:
    assert values_for(letter(), recipient('Love, "Ada"'))["to"] == r'"Love, \"Ada\"" <Ada@example.net>'


def test_links_are_the_recipients_own() -> None:
    values = values_for(letter(archive_url="https://l.example/a/"), recipient())
    assert values["removelink"] == "https://l.example/u/"
    assert values["managelink"] == "https://l.example/m/"
    assert values["weblink"] == values["archivelink"] == "https://l.example/a/"


def test_without_an_archive_the_only_post_is_where_to_read_it() -> None:
    assert values_for(letter(entries=(entry(1),)), recipient())["weblink"] == "https://blog.example/1"
    assert values_for(letter(entries=(entry(1), entry(2))), recipient())["weblink"] == ""


def test_an_extra_parameter_is_a_field_and_a_built_in_wins_unless_blank() -> None:
    params = {"Motto": "Rain", "toEmail": "other@example.org", "replyTo": "answers@example.org"}
    values = values_for(letter(params=params), recipient())
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
