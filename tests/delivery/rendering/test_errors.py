"""Template errors, as their author reads them.

The %Fields% in text that an editor types.
"""

import pytest
from django.template import Context, Engine, TemplateDoesNotExist, TemplateSyntaxError

from channels.letter import LetterError
from channels.placeholders import UnknownField
from delivery.rendering.errors import LONGEST_TEMPLATE_FAULT, Rendered, TooLong, TypedFields, broken

SYNTAX = TemplateSyntaxError


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RecursionError("maximum recursion depth"), "it is nested too deeply"),
        (MemoryError(), "it needs too much memory"),
        (TooLong(), "it takes longer than 2 seconds"),
        (TemplateDoesNotExist("parts/nope.html"), "there is no part “parts/nope.html” to extend or include"),
        (LetterError("There is no field %Nope%."), "There is no field %Nope%"),
        (SYNTAX("Something of Django's"), "Something of Django's"),
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
        (KeyError(), "KeyError"),
    ],
)
def test_each_fault_is_one_sentence(error: BaseException, reason: str) -> None:
    said = broken(error, "issues/digest", "html")
    assert str(said) == f"The template issues/digest cannot be used: html: {reason}."


@pytest.mark.parametrize(
    ("source", "line", "reason"),
    [
        ("a\n{% nope %}", 2, "there is no tag “nope” here"),
        ("{% if a %}\n\n{% nope %}{% endif %}", 3, "there is no tag “nope” here, where "),
        ("{{ a|nope }}", 1, "there is no filter “nope”"),
        ("\n{% if a %}", 2, "the tag “if” is never closed; it needs elif, else, endif"),
        ("a\n{{ a|add:b }}{% widthratio a 0 b %}{% include a %}", 2, ""),
    ],
)
def test_what_django_says_of_a_tag_is_said_plainly_and_with_its_line(
    source: str, line: int, reason: str
) -> None:
    with pytest.raises(Exception) as raised:  # noqa: PT011 - any
        Engine(debug=True).from_string(source).render(Context({"a": "parts/nope.html"}))
    wrong = broken(raised.value, "issues/digest", "html")
    assert (wrong.part, wrong.line) == ("html", line)
    assert wrong.reason.startswith(reason)
    assert str(wrong).startswith(f"The template issues/digest cannot be used: html, line {line}: ")


def test_what_was_said_once_is_not_said_anew_and_a_long_fault_is_cut() -> None:
    once = broken(LetterError("x" * 2000), "issues/digest", "")
    assert len(once.reason) == LONGEST_TEMPLATE_FAULT
    assert broken(once, "another", "text") is once


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
