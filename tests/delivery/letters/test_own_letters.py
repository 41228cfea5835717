"""A newsletter's own templates in issues, mails and pages, also when one breaks later."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from delivery.issues.complete import complete_due
from delivery.letters.build import mail_letter, sample_letter
from delivery.letters.templates import use_default
from delivery.letters.trial import send_test_letter
from delivery.models import Issue
from delivery.rendering.facts import TemplateSource
from feedletter_site.monitoring.attention import alerts
from subscriptions.models import Assignable
from tests.delivery.collecting import MIDNIGHT, a_newsletter, collect
from tests.delivery.ledger import a_mail
from tests.delivery.own_letters import a_read_feed, kept, saved
from tests.factories import NOW, SubscribableFactory, SubscriptionFactory, an_issue

pytestmark = pytest.mark.django_db


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
