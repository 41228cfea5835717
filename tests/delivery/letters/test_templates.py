"""A newsletter's own templates: versions are kept, and sources that do not render are refused.

A newsletter's own templates in issues, mails and pages, also when one breaks later.
Previews of any mail or page as a reader would get it, without anyone's keys.
"""

from datetime import timedelta
from email import message_from_string, policy
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from delivery.accounts.dkim_keys import make_key
from delivery.customisation import current, own_issue_sources
from delivery.issues.complete import complete_due
from delivery.letters.build import mail_letter, sample_letter
from delivery.letters.templates import (
    Preview,
    TemplateRefused,
    UnknownReader,
    find_reader,
    known_template,
    known_templates,
    preview,
    save_template,
    source_in_use,
    use_again,
    use_default,
)
from delivery.letters.trial import send_test_letter
from delivery.models import Delivery, Issue, LetterTemplate
from delivery.rendering.engine import usual_source
from delivery.rendering.errors import UnknownTemplate
from delivery.rendering.facts import LONGEST_TEMPLATE_HTML, TemplateSource
from feedletter_site.monitoring.attention import alerts
from subscriptions.models import Assignable, Subscribable
from tests.delivery.collecting import MIDNIGHT, a_newsletter, collect
from tests.delivery.ledger import a_mail
from tests.delivery.own_letters import a_read_feed, kept, saved
from tests.factories import NOW, SubscribableFactory, SubscriptionFactory, an_issue
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


def run(now: Any = MIDNIGHT) -> int:
    return complete_due(clock=lambda: now)


def test_an_issue_is_rendered_by_the_newsletters_own_template() -> None:
    subscribable = a_newsletter()
    saved(subscribable, "issues/digest", "<p>Mine for %toNickname%</p>", subject="{{ count }} posts")
    collect(subscribable)
    assert run() == 1
    issue = Issue.objects.get()
    assert "<p>Mine for" in issue.html
    assert issue.placeholders["tonickname"] in issue.html
    assert issue.subject.endswith("posts")


def test_a_template_that_breaks_later_loses_no_issue_and_says_why() -> None:
    subscribable = a_newsletter()
    broken = kept(subscribable, "issues/digest", "fine\n%Gone%")
    collect(subscribable)
    assert run() == 0
    collection = Assignable.objects.get()
    assert "issues/digest cannot be used: html, line 2: There is no field %Gone%" in collection.last_error
    assert any("can’t be created" in alert.sentence for alert in alerts(User(is_superuser=True)))
    use_default(subscribable=subscribable, name=broken.name)
    assert run(MIDNIGHT + timedelta(hours=1)) == 1


def test_a_mail_is_rendered_by_the_newsletters_own_template() -> None:
    subscribable = SubscribableFactory()
    saved(
        subscribable,
        "mails/confirmation",
        '<a href="{{ confirm_url }}">Yes</a>',
        subject="Well, {{ newsletter.name }}?",
    )
    letter = mail_letter(a_mail(subscription=SubscriptionFactory(subscribable=subscribable)), now=NOW)
    assert ">Yes</a>" in letter.html
    assert letter.subject == "Well, Letter?"


def test_a_confirmation_whose_template_broke_goes_out_as_usual() -> None:
    subscribable = SubscribableFactory()
    kept(subscribable, "mails/confirmation", "%Gone%")
    letter = mail_letter(a_mail(subscription=SubscriptionFactory(subscribable=subscribable)), now=NOW)
    assert "Please confirm your subscription" in letter.html


def test_a_test_shows_the_mail_that_was_asked_for_by_the_draft() -> None:
    subscribable = SubscribableFactory(feeds=[a_read_feed()], options={})
    row = send_test_letter(
        subscribable=subscribable,
        name="mails/welcome",
        source=TemplateSource(html="Draft"),
        to="ada@example.org",
        now=NOW,
    )
    row.refresh_from_db()
    letter = sample_letter(row, now=NOW)
    assert (letter.kind, "Draft" in letter.html) == ("test", True)
    digest = send_test_letter(subscribable=subscribable, name="issues/digest", to="ada@example.org", now=NOW)
    assert len(sample_letter(digest, now=NOW).entries) == 3


def page_of(client: Client, issue: Issue) -> Any:
    return client.get(f"/s/{issue.subscribable.name}/archive/{issue.pk}/")


def test_the_page_of_an_issue_is_rendered_by_the_newsletters_own_template(client: Client) -> None:
    issue = an_issue(posts=2)
    saved(
        issue.subscribable,
        "pages/issue",
        "<style>p{}</style>{% for post in posts %}<h4>{{ post.title }}</h4>{% endfor %}",
    )
    answer = page_of(client, issue)
    assert answer.content.decode().count("<h4>") == 2
    policy = answer["Content-Security-Policy"]
    assert "style-src 'self' 'unsafe-inline'" in policy
    assert "default-src 'none'" in policy
    assert "script-src" not in policy


def test_a_page_whose_template_broke_is_shown_as_usual(client: Client) -> None:
    issue = an_issue(posts=1)
    kept(issue.subscribable, "pages/issue", "MINE {% nope %}")
    answer = page_of(client, issue)
    assert "Past issues" in answer.content.decode()
    assert "unsafe" not in answer["Content-Security-Policy"]


def test_a_page_of_ones_own_is_rendered_once_for_many_visits(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    issue = an_issue(posts=1)
    saved(issue.subscribable, "pages/issue", "MINE")
    assert b"MINE" in page_of(client, issue).content
    monkeypatch.setattr("delivery.rendering.sandbox.client._sandbox.ask", None)
    assert b"MINE" in page_of(client, issue).content


def shown(subscribable: Subscribable, name: str = "issues/post", **asked: object) -> Preview:
    return preview(subscribable=subscribable, name=name, now=NOW, **asked)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [known.name for known in known_templates()])
def test_every_mail_and_page_can_be_seen_before_there_is_anything(name: str) -> None:
    made = shown(SubscribableFactory(), name)
    assert made.problem is None
    assert made.html
    assert made.subject
    assert bool(made.text and made.raw) == (name != "pages/issue")
    assert made.is_made_up == (not name.startswith("mails/"))
    assert Delivery.objects.count() == 0


def test_it_shows_the_newest_posts_as_ada_gets_them() -> None:
    subscribable = SubscribableFactory(feeds=[a_read_feed()])
    made = shown(subscribable, source=TemplateSource(html="{{ posts.0.title }} for %toNickname%"))
    assert "Post 0 for Ada" in made.html
    assert not made.is_made_up
    assert made.text.startswith(str(subscribable))


def test_a_digest_is_seen_with_several_posts_whatever_the_newsletter_sends() -> None:
    subscribable = SubscribableFactory(feeds=[a_read_feed()])
    assert shown(subscribable, "issues/digest").html.count("blog.example/p") > 2
    assert "Post 1" not in shown(subscribable, "issues/announcement").html


def test_it_can_be_seen_as_a_subscriber_without_their_keys() -> None:
    subscription = SubscriptionFactory(display_name="Zoë")
    reader = find_reader(subscription.subscribable, subscription.destination.label.upper())
    made = shown(
        subscription.subscribable, source=TemplateSource(html="%to% %manageLink% %removeLink%"), reader=reader
    )
    assert f"Zoë &lt;{subscription.destination.label}&gt;" in made.html
    assert subscription.token not in made.html + made.text + made.raw
    assert "/manage/preview/" in made.html


def test_a_reader_who_does_not_subscribe_is_not_shown() -> None:
    other = SubscriptionFactory()
    for address in (other.destination.label, "no address", ""):
        with pytest.raises(UnknownReader):
            find_reader(SubscribableFactory(), address)


def test_the_source_is_the_message_as_it_would_go_out() -> None:
    make_key(domain="sender.example", now=NOW)
    subscribable = SubscribableFactory(feeds=[a_read_feed()])
    message = message_from_string(shown(subscribable).raw, policy=policy.default)
    assert message["Subject"] == shown(subscribable).subject
    assert "ada@example.org" in message["To"]
    assert "/unsubscribe/preview/" in message["List-Unsubscribe"]
    assert message["DKIM-Signature"]
    assert [part.get_content_type() for part in message.iter_parts()] == ["text/plain", "text/html"]
    confirmation = message_from_string(shown(subscribable, "mails/confirmation").raw, policy=policy.default)
    assert confirmation["List-Unsubscribe"] is None


def test_what_is_kept_is_shown_unless_there_is_a_draft() -> None:
    subscribable = SubscribableFactory()
    saved(subscribable, "mails/welcome", "Kept")
    assert "Kept" in shown(subscribable, "mails/welcome").html
    assert "Draft" in shown(subscribable, "mails/welcome", source=TemplateSource(html="Draft")).html


@pytest.mark.parametrize("name", ["issues/post", "mails/welcome", "pages/issue"])
def test_what_is_wrong_is_told_with_its_line(name: str) -> None:
    subscribable = SubscribableFactory()
    made = shown(subscribable, name, source=TemplateSource(html="x\n{% nope %}"))
    assert made.problem is not None
    assert (made.problem.part, made.problem.line, made.html) == ("html", 2, "")
    kept(subscribable, name, "{% nope %}")
    assert shown(subscribable, name).problem is not None


def test_a_sender_that_is_no_address_is_told() -> None:
    made = shown(SubscribableFactory(from_email="nobody"))
    assert made.problem is not None
