"""The engine of templates.

Template errors, as their author reads them.
The %Fields% in text that an editor types.
"""

from pathlib import Path
from typing import Any

import pytest
from django.template import Context, Engine, TemplateDoesNotExist, TemplateSyntaxError

from channels.letter import LetterError
from channels.placeholders import Placeholders, UnknownField
from delivery.rendering.engine import check_template, letter_templates, render_parts, with_placeholders
from delivery.rendering.errors import (
    LONGEST_TEMPLATE_FAULT,
    Rendered,
    TooLong,
    TypedFields,
    UnknownTemplate,
    broken,
)

SYNTAX = TemplateSyntaxError


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    (tmp_path / "issues").mkdir()
    settings.LETTER_TEMPLATES_DIR = tmp_path
    return tmp_path


def template(folder: Path, html: str, text: str = "") -> None:
    (folder / "issues" / "mine.html").write_text(html)
    (folder / "issues" / "mine.txt").write_text(text)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Dear %ToNickname%,", "Dear {% field ToNickname %},"),
        (r"write \%ToNickname% for it", "write %ToNickname% for it"),
        ("a{width:100%}b{height:50%}", "a{width:100%}b{height:50%}"),
        ("width:100%;height:50%", "width:100%;height:50%"),
        ("50% of 20%", "50% of 20%"),
        ("a%20b%20c", "a%20b%20c"),
        ("{%if x%}%to%{%endif%}", "{%if x%}{% field to %}{%endif%}"),
        ("{{ a }}%to%{# %from% #}", "{{ a }}{% field to %}{# %from% #}"),
    ],
)
def test_only_fields_become_holes(source: str, expected: str) -> None:
    assert with_placeholders(source) == expected


def test_the_templates_to_choose_from_can_all_be_used() -> None:
    assert letter_templates() == ["announcement", "digest", "post"]
    for name in letter_templates():
        check_template(name, {})


@pytest.mark.parametrize("name", ["nonsense", "", "../mails/test", "parts/foot", "post.html"])
def test_an_unknown_template_is_refused_with_the_names_there_are(name: str) -> None:
    with pytest.raises(UnknownTemplate, match="There are: announcement, digest, post"):
        check_template(name, {})


def test_an_unknown_field_is_refused_when_the_template_is_checked(folder: Path) -> None:
    template(folder, "%toEmail% {% if never %}%Nonsense%{% endif %}")
    with pytest.raises(UnknownField, match="%Nonsense%"):
        check_template("mine", {})
    check_template("mine", {"nonsense": "x"})


def test_fields_of_included_and_extended_templates_are_checked_too(folder: Path) -> None:
    (folder / "parts").mkdir()
    (folder / "parts" / "one.html").write_text("%Hidden%")
    (folder / "base.html").write_text('{% block body %}{% endblock %}{% include "parts/one.html" %}')
    template(folder, '{% extends "base.html" %}')
    with pytest.raises(UnknownField, match="%Hidden%"):
        check_template("mine", {})


@pytest.mark.parametrize(
    "source",
    [
        "{% load static %}",
        "{% debug %}",
        "{% lorem %}",
        "{% autoescape off %}{% endautoescape %}",
        "{% csrf_token %}",
        '{{ "x"|ljust:"999999999" }}',
        '{{ "x"|rjust:"9" }}',
        '{{ "x"|center:"9" }}',
        '{{ "x"|safe }}',
        '{{ 1|stringformat:"0999999d" }}',
        "{{ posts.__class__ }}",
        "{{ _holes }}",
        '{% include "/etc/passwd" %}',
        '{% include "../../manage.py" %}',
        '{% extends "../../pages/base.html" %}',
        "{% include posts %}",
        "{% if %}",
    ],
)
def test_a_template_cannot_reach_beyond_its_letter(folder: Path, source: str) -> None:
    template(folder, source)
    with pytest.raises(LetterError):
        check_template("mine", {})


def test_a_template_cannot_include_a_file_by_a_computed_name(folder: Path) -> None:
    (folder / "secret.py").write_text("SECRET")
    template(folder, "{% include name %}")
    with pytest.raises(LetterError):
        render_parts("issues/mine", {"name": "secret.py"}, Placeholders({}))


@pytest.mark.parametrize(
    "source",
    [
        "{{ posts.copy }}",
        "{% if posts.copy %}called{% endif %}",
        '{{ ""|default:posts.copy }}',
        "{{ posts|default:posts.copy|join:name.upper }}",
    ],
)
def test_nothing_is_called_as_a_value_or_as_an_argument_of_a_filter(folder: Path, source: str) -> None:
    template(folder, f"[{source}]")
    try:
        html = render_parts("issues/mine", {"posts": ["a", "b"], "name": "x"}, Placeholders({})).html
    except LetterError:
        return
    assert "[]" in html


def test_html_is_escaped_and_text_is_not(folder: Path) -> None:
    template(folder, "<p>{{ name }}</p>", "{{ name }}")
    drawn = render_parts("issues/mine", {"name": "Rain & <Sun>"}, Placeholders({}))
    assert "<p>Rain &amp; &lt;Sun&gt;</p>" in drawn.html
    assert drawn.text == "Rain & <Sun>\n"


def test_styles_are_inlined_but_those_marked_to_be_kept(folder: Path) -> None:
    kept = '<style data-css-inline="keep">@media print{p{color:blue}}</style>'
    template(folder, f"<html><head><style>p{{color:red}}</style>{kept}</head><body><p>x</p></body></html>")
    html = render_parts("issues/mine", {}, Placeholders({})).html
    assert '<p style="color: red;">' in html
    assert "@media print" in html
    assert html.count("<style") == 1


def test_a_hole_survives_escaping_and_inlining_in_attributes_and_text(folder: Path) -> None:
    template(folder, '<style>a{color:red}</style><a href="%removeLink%">%toEmail%</a>', "%removeLink%")
    placeholders = Placeholders({})
    drawn = render_parts("issues/mine", {}, placeholders)
    assert f'href="{placeholders.used["removelink"]}"' in drawn.html
    assert f">{placeholders.used['toemail']}</a>" in drawn.html
    assert drawn.text == placeholders.used["removelink"] + "\n"


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
