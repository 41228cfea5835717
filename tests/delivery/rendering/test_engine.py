from pathlib import Path
from typing import Any

import pytest

from channels.letter import LetterError
from channels.placeholders import Placeholders, UnknownField
from delivery.rendering.engine import check_template, letter_templates, render_parts, with_placeholders
from delivery.rendering.errors import UnknownTemplate


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
