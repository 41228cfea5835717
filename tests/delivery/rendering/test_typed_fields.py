"""The %Fields% in text that an editor types."""

import pytest

from channels.placeholders import UnknownField
from delivery.rendering.errors import Rendered, TypedFields


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("Hello %toNickname%, welcome.", "Hello, welcome."),
        ("%toNickname%, welcome.", "welcome."),
        ("To %ToEmail%: a word.", "To: a word."),
        ("%greeting%, all.", "Dear & friends, all."),
        ("From %from% with love", "From ada@example.org with love"),
        ("100% and 50%", "100% and 50%"),
    ],
)
def test_the_archive_has_what_is_everybodys_and_leaves_out_what_is_one_readers(typed: str, said: str) -> None:
    fields = TypedFields({"greeting": "Dear & friends"})
    made = fields.in_subject(typed)
    assert fields.for_nobody(made, {"from": "ada@example.org"}, is_html=False) == said


def test_in_html_a_value_is_escaped_and_a_link_of_one_reader_is_words() -> None:
    fields = TypedFields({"greeting": "Dear & friends"})
    greeting, leave = fields.in_markdown("%greeting%"), fields.in_markdown("%removeLink%")
    html = f'<p>{greeting}, <a href="{leave}" rel="x">leave</a>.</p>'
    assert fields.for_nobody(html, {}, is_html=True) == "<p>Dear &amp; friends, leave.</p>"


def test_an_unknown_one_is_refused_with_the_names_there_are_and_a_percent_sign_can_be_written() -> None:
    fields = TypedFields({})
    with pytest.raises(UnknownField, match="%toNickname%"):
        fields.in_markdown("Hello %toNickame%")
    assert fields.in_subject(r"\%x%") == "%x%"
    # Markdown removes the backslash.
    assert fields.in_markdown(r"\%x%") == r"\%x%"


def test_one_name_has_one_hole_and_a_token_that_was_cut_is_left_out() -> None:
    fields = TypedFields({})
    token = fields.in_markdown("%toNickname%")
    cut = f"<i>Hello {token[:9]}…</i>"
    letter = Rendered(
        title="", subject=token, html=cut + token, text=token, placeholders={"tonickname": "theirs"}
    )
    made = fields.as_placeholders(letter)
    assert made.placeholders == {"tonickname": "theirs"}
    assert (made.subject, made.html, made.text) == ("theirs", "<i>Hello …</i>theirs", "theirs")
