"""Mails to the admins about issues that wait for approval: once each, several in one mail."""

import pytest
from django.contrib.auth.models import User

from delivery.alerts.pauses import tell_of_drafts
from delivery.issues.publish import discard_issue
from delivery.models import Delivery
from feedletter_site.team.people import give_role
from tests.delivery.ledger import HOUR, MINUTE
from tests.factories import NOW, IssueFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _an_admin() -> None:
    User.objects.create_superuser("ada", "ada@example.org", "secret")


def mails() -> list[Delivery]:
    return list(Delivery.objects.filter(kind="alert").order_by("pk"))


def test_one_draft_is_told_of_once_with_when_it_goes_and_to_how_many() -> None:
    issue = IssueFactory(published_at=None, title="Spring", release_at=NOW + HOUR)
    SubscriptionFactory.create_batch(2, subscribable=issue.subscribable)
    assert tell_of_drafts(now=NOW) == 1
    assert tell_of_drafts(now=NOW + HOUR) == 0
    (mail,) = mails()
    assert (mail.destination.core, mail.template) == ("ada@example.org", "alert")
    assert mail.context["subject"] == "“Spring” waits for your approval"
    said = " ".join(mail.context["sentences"])
    assert "for 2 subscribers" in said
    assert "will be sent automatically on 2 Mar 2026, 13:00" in said.replace("\N{NO-BREAK SPACE}", " ")
    assert mail.context["page_url"].endswith(f"/admin/delivery/issue/{issue.pk}/change/")


def test_many_are_told_of_together_and_the_next_ones_not_at_once() -> None:
    for _ in range(3):
        IssueFactory(published_at=None)
    assert tell_of_drafts(now=NOW) == 1
    IssueFactory(published_at=None)
    assert tell_of_drafts(now=NOW + MINUTE) == 0
    assert tell_of_drafts(now=NOW + HOUR) == 1
    first, second = mails()
    assert first.context["subject"] == "3 issues wait for your approval"
    assert len(second.context["lines"]) == 4


def test_what_went_out_or_was_discarded_is_not_told_of() -> None:
    IssueFactory()
    gone = IssueFactory(published_at=None)
    discard_issue(issue_id=gone.pk, now=NOW)
    assert tell_of_drafts(now=NOW) == 0


def test_an_older_draft_is_no_news_when_the_newest_is_discarded() -> None:
    IssueFactory(published_at=None)
    newest = IssueFactory(published_at=None)
    tell_of_drafts(now=NOW)
    discard_issue(issue_id=newest.pk, now=NOW)
    assert tell_of_drafts(now=NOW + HOUR) == 0


def test_without_an_admins_address_nothing_is_taken_as_told() -> None:
    User.objects.update(email="")
    IssueFactory(published_at=None)
    assert tell_of_drafts(now=NOW) == 0
    User.objects.update(email="ada@example.org")
    assert tell_of_drafts(now=NOW) == 1


def test_senders_are_told_of_the_drafts_that_they_may_approve() -> None:
    own = IssueFactory(published_at=None, title="Own")
    IssueFactory(published_at=None, title="Other")
    everywhere, limited, editor = (
        User.objects.create_user(name, f"{name}@example.org", is_staff=True)
        for name in ("everywhere", "limited", "editor")
    )
    give_role(user=everywhere, role="sender", newsletters=None)
    give_role(user=limited, role="sender", newsletters=[own.subscribable])
    give_role(user=editor, role="editor", newsletters=None)
    assert tell_of_drafts(now=NOW) == 3
    said = {mail.destination.core.partition("@")[0]: str(mail.context) for mail in mails()}
    assert said.keys() == {"ada", "everywhere", "limited"}
    assert "Other" in said["everywhere"]
    assert "Own" in said["limited"]
    assert "Other" not in said["limited"]
    assert tell_of_drafts(now=NOW + 24 * HOUR) == 0
