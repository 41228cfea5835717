"""Template errors, as their author reads them."""

import pytest
from django.template import Context, Engine, TemplateDoesNotExist, TemplateSyntaxError

from channels.letter import LetterError
from delivery.rendering.errors import LONGEST_TEMPLATE_FAULT, TooLong, broken

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
