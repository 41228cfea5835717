"""A newsletter's own templates: versions are kept, and sources that do not render are refused."""

import pytest

from delivery.customisation import current, own_issue_sources
from delivery.letters.templates import (
    TemplateRefused,
    known_template,
    known_templates,
    save_template,
    source_in_use,
    use_again,
    use_default,
)
from delivery.models import LetterTemplate
from delivery.rendering.engine import usual_source
from delivery.rendering.errors import UnknownTemplate
from delivery.rendering.facts import LONGEST_TEMPLATE_HTML, TemplateSource
from tests.delivery.own_letters import kept, saved
from tests.factories import NOW, SubscribableFactory
from tests.races import beside

pytestmark = pytest.mark.django_db

FRIENDLY = (
    '{% extends "issues/post.html" %}'
    "{% block body %}<p>Dear %toNicknameOrEmail%,</p>{{ block.super }}{% endblock %}"
)


@pytest.mark.parametrize("known", known_templates(), ids=lambda known: known.name)
def test_every_default_can_be_kept_as_ones_own(known: object) -> None:
    name = known.name  # type: ignore[attr-defined]
    subscribable = SubscribableFactory()
    row = save_template(subscribable=subscribable, name=name, source=usual_source(name), now=NOW)
    assert (row.version, row.is_current) == (1, True)


def test_saving_makes_a_new_version_and_keeps_the_old_ones() -> None:
    subscribable = SubscribableFactory()
    first = saved(subscribable, "issues/post", FRIENDLY)
    second = saved(subscribable, "issues/post", FRIENDLY + "\n", subject="{{ title }}")
    first.refresh_from_db()
    assert (first.version, first.is_current, second.version, second.is_current) == (1, False, 2, True)
    assert (second.author, second.created_at) == ("ada", NOW)
    assert current(subscribable, "issues/post") == second
    assert own_issue_sources([subscribable.pk])[subscribable.pk] == {
        "issues/post": TemplateSource(html=FRIENDLY + "\n", subject="{{ title }}")
    }


def test_the_same_once_more_is_no_new_version() -> None:
    subscribable = SubscribableFactory()
    first = saved(subscribable, "issues/post", "a\nb")
    assert saved(subscribable, "issues/post", "a\r\nb") == first


def test_an_old_version_comes_back_as_the_newest() -> None:
    subscribable = SubscribableFactory()
    first = saved(subscribable, "mails/welcome", "One")
    saved(subscribable, "mails/welcome", "Two")
    again = use_again(version=first, author="ben", now=NOW)
    assert (again.version, again.html, again.note, again.author) == (3, "One", "As version 1", "ben")


def test_going_back_to_the_default_keeps_the_versions_and_their_numbers() -> None:
    subscribable = SubscribableFactory()
    saved(subscribable, "issues/post", "One")
    assert use_default(subscribable=subscribable, name="issues/post")
    assert not use_default(subscribable=subscribable, name="issues/post")
    assert current(subscribable, "issues/post") is None
    assert source_in_use(subscribable, "issues/post") == usual_source("issues/post")
    assert saved(subscribable, "issues/post", "One").version == 2


def test_each_newsletter_and_each_mail_has_versions_of_its_own() -> None:
    one, other = SubscribableFactory(), SubscribableFactory()
    rows = [
        saved(one, "issues/post", "x"),
        saved(other, "issues/post", "x"),
        saved(one, "issues/digest", "x"),
    ]
    assert [row.version for row in rows] == [1, 1, 1]


@pytest.mark.parametrize(
    ("name", "html", "parts", "where", "words"),
    [
        ("issues/post", "", {}, "html", "Write something"),
        ("issues/post", "x\n{% nope %}", {}, "html", "Line 2: there is no tag “nope” here."),
        ("issues/post", "%Nope%", {}, "html", "Line 1: There is no field %Nope%. Available: %from%"),
        ("issues/post", "x", {"text": "{% if %}"}, "text", "Line 1"),
        ("issues/post", "x", {"subject": "%Nope%"}, "subject", "Line 1: There is no field %Nope%"),
        ("issues/post", "x" * (LONGEST_TEMPLATE_HTML + 1), {}, "html", "200,001 characters"),
        ("pages/issue", "%toEmail%", {}, "html", "the same for everyone"),
        ("mails/welcome", "{% if a %}%Nope%{% endif %}", {}, "html", "There is no field %Nope%"),
        ("mails/confirmation", "Welcome", {}, "html", "{{ confirm_url }}"),
        ("mails/confirmation", "{{ confirm_url }}", {"text": "Hm"}, "text", "{{ confirm_url }}"),
        # It renders with the posts as they usually are.
        ("issues/digest", "{% if count > 20 %}{{ title|date:nope }}{% endif %}", {}, "html", "no nope"),
        (
            "issues/post",
            "{% for post in posts %}{% if not post.title %}{{ post.date|date:nope }}{% endif %}{% endfor %}",
            {}, "html", "no nope",
        ),
    ],
)  # fmt: skip
def test_what_does_not_render_is_refused_and_nothing_changes(
    name: str, html: str, parts: dict[str, str], where: str, words: str
) -> None:
    subscribable = SubscribableFactory()
    with pytest.raises(TemplateRefused) as caught:
        saved(subscribable, name, html, **parts)
    assert words in caught.value.message_dict[where][0]
    assert caught.value.problem.part in (where, "")
    assert LetterTemplate.objects.count() == 0


def test_a_broken_version_does_not_come_back() -> None:
    subscribable = SubscribableFactory()
    broken = kept(subscribable, "issues/post", "{% nope %}", is_current=False)
    with pytest.raises(TemplateRefused):
        use_again(version=broken, now=NOW)


def test_an_extra_parameter_is_a_field() -> None:
    subscribable = SubscribableFactory(params={"motto": "Slow news"})
    assert saved(subscribable, "issues/post", "%motto%").version == 1


def test_a_template_may_be_named_in_short() -> None:
    assert known_template("digest").name == "issues/digest"
    assert known_template("mails/welcome").name == "mails/welcome"
    with pytest.raises(UnknownTemplate, match="There are: issues/post, issues/digest"):
        known_template("nonsense")
    with pytest.raises(UnknownTemplate):
        saved(SubscribableFactory(), "mails/alert", "x")


@pytest.mark.django_db(transaction=True)
def test_two_who_save_at_once_get_two_versions() -> None:
    subscribable = SubscribableFactory()
    rows = beside(
        lambda: saved(subscribable, "issues/post", "One"), lambda: saved(subscribable, "issues/post", "Two")
    )
    assert sorted(row.version for row in rows) == [1, 2]
    assert LetterTemplate.objects.filter(is_current=True).count() == 1
