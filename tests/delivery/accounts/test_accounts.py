"""Several mail accounts: each newsletter sends its letters and mails through its own."""

from typing import Any

import pytest
from django.db import transaction

from channels.email.channel import EmailChannel
from channels.email.session import CannotLogIn
from common.ports.channels import InvalidDestination
from common.transactions import NetworkInTransaction
from delivery.accounts.accounts import add_account, alter_account, server_of, try_login, url_of
from delivery.engine.send_pass import send_due
from delivery.issues.publish import publish
from delivery.lanes.lanes import mail_lane
from delivery.letters.notices import take_notices
from delivery.letters.trial import send_test_email, send_test_issue
from delivery.models import Account, Delivery, Lane
from tests.delivery.ledger import Clock, queued
from tests.factories import (
    NOW,
    IssueFactory,
    NoticeFactory,
    SubscribableFactory,
    SubscriptionFactory,
    UnconfirmedFactory,
)
from tests.servers.smtp_server import SmtpServer

pytestmark = pytest.mark.django_db


@pytest.fixture
def second() -> Any:
    return add_account(name="second", url="smtp://ada:s3cret@second.example:2525")


def lanes_of(**lookup: Any) -> set[str]:
    return set(Delivery.objects.filter(**lookup).values_list("lane__account", flat=True))


def test_a_newsletter_with_an_account_goes_out_through_it(second: Account) -> None:
    letter = SubscribableFactory(options={"account": "second"})
    other = SubscribableFactory()
    for newsletter in (letter, other):
        SubscriptionFactory(subscribable=newsletter)
        issue = IssueFactory(subscribable=newsletter, published_at=None)
        publish(issue_id=issue.pk, now=NOW)
    assert lanes_of(issue__subscribable=letter) == {"second"}
    assert lanes_of(issue__subscribable=other) == {"default"}


@pytest.mark.parametrize("kind", ["confirmation", "welcome", "farewell"])
def test_so_do_its_mails(kind: str, second: Account) -> None:
    letter = SubscribableFactory(options={"account": "second"})
    NoticeFactory(kind=kind, subscription=UnconfirmedFactory(subscribable=letter))
    NoticeFactory(kind=kind)
    take_notices(now=NOW)
    assert lanes_of(subscription__subscribable=letter) == {"second"}
    assert lanes_of() == {"second", "default"}


def test_a_sign_in_belongs_to_no_newsletter(second: Account) -> None:
    subscription = UnconfirmedFactory(subscribable__options={"account": "second"})
    NoticeFactory(kind="sign_in", subscription=None, destination=subscription.destination)
    take_notices(now=NOW)
    assert lanes_of() == {"default"}


def test_tests_go_the_way_of_what_they_test(second: Account) -> None:
    letter = SubscribableFactory(options={"account": "second"})
    assert send_test_issue(subscribable=letter, to="a@example.org", now=NOW).lane.account == "second"
    assert send_test_email(to="a@example.org", now=NOW).lane.account == "default"
    assert send_test_email(to="a@example.org", now=NOW, account="second").lane.account == "second"
    with pytest.raises(InvalidDestination, match="no email account “third”"):
        send_test_email(to="a@example.org", now=NOW, account="third")


def test_only_a_lane_of_another_account_carries_a_url(second: Account) -> None:
    assert url_of(mail_lane("second")) == "smtp://ada:s3cret@second.example:2525"
    assert url_of(mail_lane()) == ""
    assert url_of(Lane(kind="mastodon", account="second")) == ""
    assert url_of(Lane(kind="email", account="gone")) == ""


def test_after_secret_key_has_changed_the_lane_waits_and_says_what_to_do(
    second: Account, settings: Any
) -> None:
    settings.SECRET_KEY = "another key, with nothing to fall back on"
    assert url_of(mail_lane("second")) == ""
    assert server_of(Account.objects.get()) == "Its URL can’t be read. Enter it again."
    with pytest.raises(CannotLogIn, match="add_account second --replace"):
        try_login(Account.objects.get())
    alter_account(account=Account.objects.get(), url="smtp://third.example")
    assert url_of(mail_lane("second")) == "smtp://third.example"


def test_the_channel_knows_the_account_of_a_newsletter() -> None:
    assert EmailChannel().lane_account("a@example.org", {"account": "second"}) == "second"
    assert EmailChannel().lane_account("a@example.org", {}) == "default"


def test_a_login_is_not_tried_inside_a_transaction(second: Account) -> None:
    with transaction.atomic(), pytest.raises(NetworkInTransaction):
        try_login(second)


@pytest.mark.django_db(transaction=True)
def test_each_account_is_a_server_of_its_own(settings: Any) -> None:
    with SmtpServer() as first, SmtpServer() as other:
        settings.EMAIL_URL = first.url
        add_account(name="second", url=other.url)
        queued(2, lane=mail_lane())
        queued(3, lane=mail_lane("second"))
        assert send_due(clock=Clock()).sent == 5
        assert (len(first.messages), len(other.messages)) == (2, 3)
