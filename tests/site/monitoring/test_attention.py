"""Problems that need a person: a few by name, the number of the rest, and nothing if all is well."""

from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import Q

from common.clock import utcnow
from delivery.models import LaneDomain
from feedletter_site.monitoring import attention
from feedletter_site.monitoring.attention import ALERTS_SHOWN, OVERDUE
from subscriptions.subscribers.antispam import note_proxy
from tests.factories import (
    AssignableFactory,
    BroadcastFactory,
    DeliveryFactory,
    FeedFactory,
    IssueFactory,
    LaneFactory,
    SubscribableFactory,
    SubscriptionFactory,
)

OWNER = User(is_superuser=True)
pytestmark = pytest.mark.django_db
LONG_AGO = utcnow() - timedelta(days=30)
MANY = ALERTS_SHOWN + 2


def said(alerts: list[attention.Alert]) -> list[str]:
    return [alert.sentence for alert in alerts]


def test_an_undeclared_proxy_is_named_with_the_value_to_set(settings: Any) -> None:
    settings.TRUSTED_PROXIES = [ip_network("10.0.0.1")]
    assert attention.proxies() == []
    note_proxy("::ffff:172.17.0.1")
    (alert,) = attention.proxies()
    assert "Visitors come from one address, 172.17.0.1, " in alert.sentence
    assert "set TRUSTED_PROXIES=10.0.0.1/32,172.17.0.1." in alert.detail


def test_of_many_paused_newsletters_some_are_named_and_the_rest_is_a_list() -> None:
    SubscribableFactory.create_batch(ALERTS_SHOWN, sending_paused_at=LONG_AGO)
    assert len(attention.paused_newsletters()) == ALERTS_SHOWN
    SubscribableFactory.create_batch(2, sending_paused_at=LONG_AGO)
    *named, rest = said(attention.paused_newsletters())
    assert (len(named), rest) == (ALERTS_SHOWN, "More newsletters are paused")


def test_of_many_paused_issues_some_are_named_and_the_rest_is_a_list() -> None:
    for issue in IssueFactory.create_batch(MANY, paused_at=LONG_AGO, paused_reason="too many complaints"):
        DeliveryFactory(issue=issue)
    *named, rest = attention.paused_issues()
    assert (len(named), rest.sentence) == (ALERTS_SHOWN, "More issues are paused")
    assert all(alert.sentence.endswith(" is paused: 1 email waits") for alert in named)
    assert {alert.detail for alert in named} == {"Too many complaints"}


def test_letters_are_counted_so_far_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "COUNTED_TO", 2)
    issue = IssueFactory()
    DeliveryFactory.create_batch(2, issue=issue)
    assert attention.held_letters(Q(issue=issue)) == "2 emails wait"
    DeliveryFactory(issue=issue)
    assert attention.held_letters(Q(issue=issue)) == "more than 2 emails wait"


def test_work_that_no_worker_does_is_said_after_a_while() -> None:
    feed = FeedFactory(next_poll_at=utcnow() - OVERDUE + timedelta(minutes=1))
    assert attention.stalled() == []
    type(feed).objects.update(next_poll_at=utcnow() - OVERDUE - timedelta(minutes=1))
    assert said(attention.stalled()) == ["Work is overdue by more than 10 minutes"]


@pytest.mark.parametrize(
    ("make", "one", "two"),
    [
        (
            lambda: DeliveryFactory(state="held", held_for="answer"),
            "1 delivery is held for you",
            "2 deliveries are held for you",
        ),
        (
            lambda: BroadcastFactory(send_at=LONG_AGO, failures=1),
            "1 email can’t be sent",
            "2 emails can’t be sent",
        ),
        (lambda: AssignableFactory(failures=1), "1 issue can’t be created", "2 issues can’t be created"),
    ],
)
def test_trouble_is_counted_in_whole_sentences(admin_user: User, make: Any, one: str, two: str) -> None:
    make()
    assert said(attention.objects_in_trouble(admin_user)) == [one]
    make()
    assert said(attention.objects_in_trouble(admin_user)) == [two]


def test_domains_to_which_nothing_goes_are_named_and_counted() -> None:
    lane = LaneFactory()
    rests = {"refused_since": LONG_AGO, "free_at": utcnow() + timedelta(hours=1), "last_error": "421 Later"}
    LaneDomain.objects.create(lane=lane, domain="a.example", **rests)
    LaneDomain.objects.create(lane=lane, domain="b.example", paused=True, paused_reason="By hand")
    LaneDomain.objects.create(lane=lane, domain="c.example")
    assert [(alert.sentence, alert.detail) for alert in attention.paused_domains(utcnow())] == [
        ("Emails to a.example wait", "421 Later"),
        ("Emails to b.example are paused", "By hand"),
    ]
    LaneDomain.objects.bulk_create(
        LaneDomain(lane=lane, domain=f"{number}.example", paused=True) for number in range(ALERTS_SHOWN)
    )
    assert said(attention.paused_domains(utcnow()))[-1] == "Emails to 2 more domains wait, too"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mailbox:", ["Emails are kept in the mailbox here, not sent"]),
        ("", ["No email can be sent"]),
        ("smtp://mail.example", []),
    ],
)
def test_where_letters_go_is_said_unless_they_are_sent(settings: Any, url: str, words: list[str]) -> None:
    settings.EMAIL_URL = url
    assert said(attention.mail()) == words


def test_a_draft_waits_with_its_title_when_it_is_sent_anyway_and_to_how_many() -> None:
    now = utcnow()
    draft = IssueFactory(title="On boats", published_at=None, release_at=now + timedelta(minutes=5))
    SubscriptionFactory.create_batch(2, subscribable=draft.subscribable)
    (alert,) = attention.drafts_in_need(OWNER, now)
    assert alert.sentence == f"{draft.subscribable} waits for your approval"
    first, due, whom = alert.detail.split(" · ")
    assert (first, due[:5], whom) == ("On boats", "sent ", "2 people")
    IssueFactory.create_batch(MANY, published_at=None)
    assert attention.drafts_in_need(OWNER, now)[-1].sentence == "More issues wait for your approval"
