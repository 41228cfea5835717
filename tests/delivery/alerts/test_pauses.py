"""Mails to the admins about automatic pauses: soon, together, and once.

Mails to the admins about issues that wait for approval: once each, several in one mail.
"""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from common.clock import utcnow
from delivery.alerts.pauses import tell_of_drafts, tell_of_pauses
from delivery.bounces.domain_refusals import REFUSED
from delivery.issues.pause import pause_newsletter, resume_newsletter
from delivery.issues.publish import discard_issue
from delivery.lanes.limits import pause_domain, resume_domain
from delivery.letters.build import mail_letter
from delivery.models import Delivery, LaneDomain
from feedletter_site.team.people import give_role
from subscriptions.models import Subscribable
from tests.delivery.ledger import HOUR, MINUTE, a_lane
from tests.factories import NOW, IssueFactory, SubscribableFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db
WHY = f"{REFUSED} 12 of the last 40 letters (2 Mar 2026, 12:00 UTC). The server said: 550 5.7.1 <No> & no"


@pytest.fixture(autouse=True)
def admin() -> User:
    return User.objects.create_superuser("ada", "ada@example.org", "x")


def paused(domain: str = "one.example", why: str = WHY) -> int:
    lane = a_lane()
    assert pause_domain(lane_id=lane.pk, domain=domain, reason=why, now=NOW)
    return int(lane.pk)


def paused_newsletter(title: str = "Letter") -> Subscribable:
    row: Subscribable = SubscribableFactory(title=title)
    reason = "By itself: 3 large domains refuse it."
    assert pause_newsletter(subscribable_id=row.pk, reason=reason, now=NOW)
    return row


def subjects() -> list[str]:
    return [row.context["subject"] for row in Delivery.objects.filter(kind="alert").order_by("pk")]


def test_a_paused_domain_is_told_once_in_the_servers_words(settings: Any) -> None:
    settings.SITE_URL = "https://letters.example"
    pk = paused()
    for minute in range(5):
        tell_of_pauses(now=NOW + minute * MINUTE)
    tell_of_pauses(now=NOW + timedelta(days=3))
    assert subjects() == ["Emails to one.example are paused"]
    letter = mail_letter(Delivery.objects.get(), now=NOW)
    said = (
        "it refused 12 of the last 40 letters (2 Mar 2026, 12:00 UTC). The server said: 550 5.7.1 <No> & no"
    )
    assert f"Emails to one.example are paused: {said}" in " ".join(letter.text.split())
    assert f"https://letters.example/admin/delivery/lane/{pk}/change/" in letter.text
    assert "&lt;No&gt; &amp; no" in letter.html


def test_a_paused_newsletter_is_told_with_its_page() -> None:
    row = paused_newsletter("Rain & <Sun>")
    assert tell_of_pauses(now=NOW) == 1
    assert subjects() == ["“Rain & <Sun>” is paused"]
    page = Delivery.objects.get().context["page_url"]
    assert page.endswith(f"/subscriptions/subscribable/{row.pk}/change/")


def test_what_is_paused_within_three_hours_is_one_mail_more() -> None:
    paused()
    tell_of_pauses(now=NOW)
    paused("two.example")
    paused("three.example")
    paused_newsletter()
    assert tell_of_pauses(now=NOW + HOUR) == 0
    assert tell_of_pauses(now=NOW + 3 * HOUR) == 1
    assert subjects()[1:] == ["2 domains and 1 newsletter are paused"]
    text = mail_letter(Delivery.objects.latest("pk"), now=NOW).text
    assert "one.example" not in text
    assert tell_of_pauses(now=NOW + 9 * HOUR) == 0


def test_a_domain_that_is_paused_anew_is_told_anew() -> None:
    pk = paused()
    tell_of_pauses(now=NOW)
    resume_domain(lane_id=pk, domain="one.example", now=NOW + HOUR)
    paused(why=WHY.replace("12:00", "15:00"))
    assert tell_of_pauses(now=NOW + 4 * HOUR) == 1


def test_a_newsletter_that_is_paused_anew_is_told_anew() -> None:
    row = paused_newsletter()
    tell_of_pauses(now=NOW)
    resume_newsletter(subscribable_id=row.pk, now=NOW + HOUR)
    pause_newsletter(subscribable_id=row.pk, reason="By itself: again.", now=NOW + HOUR)
    assert tell_of_pauses(now=NOW + 4 * HOUR) == 1


def test_what_a_person_paused_is_no_news() -> None:
    paused(why="By hand.")
    pause_newsletter(subscribable_id=SubscribableFactory().pk, reason="By hand.", now=NOW)
    assert tell_of_pauses(now=NOW) == 0


def test_what_was_resumed_meanwhile_is_not_told() -> None:
    pk = paused()
    resume_domain(lane_id=pk, domain="one.example", now=NOW)
    assert tell_of_pauses(now=NOW) == 0


def test_while_nobody_can_be_told_nothing_counts_as_told(admin: User) -> None:
    User.objects.update(email="")
    paused()
    assert tell_of_pauses(now=NOW) == 0
    User.objects.update(email="ada@example.org")
    assert tell_of_pauses(now=NOW + MINUTE) == 1


def test_many_pauses_are_listed_up_to_a_bound() -> None:
    for number in range(35):
        paused(f"domain{number}.example")
    tell_of_pauses(now=NOW)
    assert subjects() == ["35 domains are paused"]
    assert mail_letter(Delivery.objects.get(), now=NOW).text.count("550 5.7.1") == 30
    assert "- and 5 more\n" in mail_letter(Delivery.objects.get(), now=NOW).text


def test_nothing_paused_asks_six_questions(django_assert_num_queries: Any) -> None:
    LaneDomain.objects.create(lane=a_lane(), domain="one.example", rate=1.0)
    with django_assert_num_queries(6):
        tell_of_pauses(now=NOW)


def test_the_overview_lists_paused_domains_and_newsletters(client: Client, admin: User) -> None:
    pk = paused()
    paused_newsletter()
    client.force_login(admin)
    page = client.get(reverse("admin:index")).content.decode()
    assert "Emails to one.example are paused" in page
    assert "It refused 12" in page
    assert "550 5.7.1 &lt;No&gt;" in page
    assert reverse("admin:delivery_lane_change", args=[pk]) in page
    assert "“Letter” is paused<" in page


def test_the_overview_lists_what_rests_or_is_paused_because_it_is_refused(
    client: Client, admin: User
) -> None:
    now = utcnow()
    said = "Email to this domain is refused: 554 5.7.1 blocked using zen.spamhaus.org"
    resting = {"refused_since": now, "last_error": said}
    LaneDomain.objects.create(lane=a_lane(), domain="one.example", free_at=now + HOUR, **resting)
    LaneDomain.objects.create(lane=a_lane(), domain="two.example", free_at=now - HOUR, **resting)
    IssueFactory(title="On boats", paused_at=now, paused_reason="By itself: it is too large.")
    client.force_login(admin)
    page = client.get(reverse("admin:index")).content.decode()
    assert "Emails to one.example wait" in page
    assert said in page
    assert "two.example" not in page
    assert "“On boats” of " in page
    assert "It is too large." in page


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
