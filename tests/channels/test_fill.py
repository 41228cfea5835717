from hypothesis import given
from hypothesis import strategies as st

from channels.placeholders import Placeholders, fill_header, fill_html, fill_text

HOLES = {"toemail": "hAAAA00001x", "tonickname": "hAAAA00002x"}


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
