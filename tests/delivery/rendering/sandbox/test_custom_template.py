"""An admin's own template: optional parts, and error messages."""

from typing import Any

import pytest

from channels.placeholders import field_names, fill_header
from delivery.rendering.branding import by_day, by_night
from delivery.rendering.errors import BrokenTemplate, Rendered
from delivery.rendering.facts import TemplateSource
from delivery.rendering.issue import render_issue
from delivery.rendering.mail import render_mail
from delivery.rendering.sandbox import client
from delivery.rendering.sandbox.custom_template import shortened_around
from tests.delivery.rendering.samples import NOW, entry, facts, html_of, one, text_of


def letter(source: TemplateSource, **changes: Any) -> Rendered:
    return render_issue(facts(own={"issues/digest": source}, **changes))


def test_without_a_text_or_subject_the_usual_ones_are_taken() -> None:
    usual, own = render_issue(facts()), letter(TemplateSource(html="<p>Mine</p>"))
    assert "<p>Mine</p>" in own.html
    assert own.subject == usual.subject
    assert text_of(own) == text_of(usual)


def test_a_subject_may_have_values_and_fields_and_stays_one_line() -> None:
    source = TemplateSource(html="x", subject="{{ count }} posts\n for %toNickname%, & <more>")
    made = letter(source)
    assert fill_header(made.subject, made.placeholders, {"tonickname": "Zoë"}) == "3 posts for Zoë, & <more>"


def test_a_long_subject_is_cut_around_its_holes() -> None:
    made = letter(
        TemplateSource(html="x", subject="{{ posts.0.title }} %toNickname%"),
        entries=(entry(1, title="x" * 250),),
    )
    filled = fill_header(made.subject, made.placeholders, {"tonickname": "Zoë"})
    assert filled == "x" * 199 + "…" + "Zoë"
    assert shortened_around("short", ()) == "short"


def test_styles_are_inlined_and_kept_ones_stay() -> None:
    kept = '<style data-css-inline="keep">@media print{p{color:blue}}</style>'
    made = letter(TemplateSource(html=f"<style>p{{color:red}}</style>{kept}<p>x</p>"))
    assert '<p style="color: red;">' in made.html
    assert "@media print" in made.html


def test_a_newsletter_uses_only_the_template_that_is_meant() -> None:
    own = {"issues/post": TemplateSource(html="MINE")}
    assert "MINE" not in render_issue(facts(own=own)).html
    assert "MINE" in render_issue(one(entry(1), own=own)).html


def test_a_block_takes_up_what_it_would_have_been() -> None:
    html = '{% extends "issues/digest.html" %}{% block body %}<p>%toEmail%</p>{{ block.super }}{% endblock %}'
    made = html_of(letter(TemplateSource(html=html)))
    assert ">ada@example.net</p>" in made
    assert "The text of post 1." in made


def test_dates_follow_the_newsletters_zone_and_values_are_escaped() -> None:
    made = letter(
        TemplateSource(html="{{ dateline }}|{{ title }}", text="{{ newsletter.name }}"),
        newsletter="Rain & Sun",
    )
    assert "March 5, 2026" in made.html or "5" in made.html
    assert made.text == "Rain & Sun\n"


@pytest.mark.parametrize(
    ("source", "part", "line", "words"),
    [
        (TemplateSource(html="a\nb\n{% nope %}"), "html", 3, "no tag “nope”"),
        (TemplateSource(html="{{ a|nope }}"), "html", 1, "no filter “nope”"),
        (TemplateSource(html="x\n{% if a %}\n"), "html", 2, "never closed"),
        (TemplateSource(html="x", text="\n%Nope%"), "text", 2, "no field %Nope%"),
        (TemplateSource(html="x", subject="{% if %}"), "subject", 1, "if"),
        (TemplateSource(html='\n\n{% include "parts/nope.html" %}'), "html", 3, "“parts/nope.html”"),
        (TemplateSource(html="{% for a in posts %}\n{% endif %}"), "html", 2, "endfor"),
        (TemplateSource(html="ok\n{{ 'a'|slice:b }}{{ title|date:nothing }}"), "html", 2, ""),
    ],
)
def test_what_is_wrong_is_said_with_its_part_and_line(
    source: TemplateSource, part: str, line: int, words: str
) -> None:
    with pytest.raises(BrokenTemplate) as caught:
        letter(source)
    error = caught.value
    assert (error.name, error.part, error.line) == ("issues/digest", part, line)
    assert words in error.reason
    assert str(error).startswith(f"The template issues/digest cannot be used: {part}, line {line}: ")


def test_a_field_is_looked_for_where_no_rendering_comes_by() -> None:
    source = TemplateSource(html="fine\n{% if never %}%Nope%{% endif %}")
    with pytest.raises(BrokenTemplate, match=r"line 2: There is no field %Nope%\. Available: %from%"):
        client.check_fields("issues/digest", source, field_names({}))
    client.check_fields("issues/digest", source, field_names({"nope": "x"}))
    with pytest.raises(BrokenTemplate, match="named in quotes"):
        client.check_fields("issues/digest", TemplateSource(html="{% include title %}"), field_names({}))


def test_a_page_has_no_fields() -> None:
    with pytest.raises(BrokenTemplate, match="the same for everyone"):
        client.check_fields("pages/issue", TemplateSource(html="%toEmail%"), {})


def test_a_mail_may_have_its_own_source_too() -> None:
    context = {"newsletter": "Rain & Sun", "confirm_url": "https://x.example/c/", "hours": "48"}
    own = TemplateSource(
        html='<a href="{{ confirm_url }}">{{ newsletter.name }}</a>', subject="{{ newsletter.name }}, please"
    )
    made = render_mail("confirmation", context, own=own)
    assert '<a href="https://x.example/c/">Rain &amp; Sun</a>' in made.html
    assert made.subject == "Rain & Sun, please"
    assert "48 hours" in made.text


def test_extra_parameters_are_values_and_fields() -> None:
    made = letter(
        TemplateSource(html="{{ newsletter.params.motto }} %motto%", text="x"), params={"motto": "Slow news"}
    )
    assert made.placeholders.keys() == {"motto"}
    assert "Slow news" in made.html


def test_the_posts_of_a_source_are_plain_values() -> None:
    made = letter(
        TemplateSource(html="{{ posts.0.published }}|{{ posts.0.title }}|{{ posts.9.title }}|{{ title.0 }}"),
        now=NOW,
    )
    assert "|Post 1||P" in made.html


def test_day_and_night_are_shown_whatever_the_screen_prefers() -> None:
    html = (
        '<meta name="color-scheme" content="light dark">'
        "<style>@media (prefers-color-scheme: dark){a{}}</style>"
    )
    assert "(max-width: 0px)" in by_day(html)
    assert "(min-width: 0px)" in by_night(html)
    assert 'content="dark"' in by_night(html)
    assert "prefers" not in by_day(html) + by_night(html)
