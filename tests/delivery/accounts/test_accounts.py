"""Several mail accounts: each newsletter sends its letters and mails through its own.

The default account is used if no other is chosen, unless the environment sets one.
"""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st

from channels.base import LaneFacts, Temporary
from channels.email.account_url import parse_email_url, url_to
from channels.email.address import MAX_NAME, parse_sender
from channels.email.channel import EmailChannel
from channels.email.session import CannotLogIn
from common.ports.channels import InvalidDestination
from common.transactions import NetworkInTransaction
from delivery.accounts.accounts import (
    add_account,
    alter_account,
    drop_account,
    keeps_letters,
    make_default,
    named_sender,
    sender_of,
    server_of,
    stop_default,
    try_login,
    url_of,
    usual_sender,
)
from delivery.engine.send_pass import send_due
from delivery.issues.publish import publish
from delivery.lanes.lanes import mail_lane
from delivery.letters.notices import take_notices
from delivery.letters.trial import send_test_email, send_test_issue
from delivery.models import Account, Delivery, Lane
from tests.delivery.ledger import Clock, queued
from tests.factories import (
    NOW,
    BridgeFactory,
    IssueFactory,
    NoticeFactory,
    SubscribableFactory,
    SubscriptionFactory,
    UnconfirmedFactory,
)
from tests.servers.smtp_server import SmtpServer

URL = "smtps://ada:s3cret@one.example"
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


@pytest.fixture
def _nothing_given(settings: Any) -> None:
    settings.EMAIL_URL, settings.GIVEN = "mailbox:", frozenset()
    settings.DEFAULT_FROM_EMAIL = "Site <site@sender.example>"


@pytest.mark.usefixtures("_nothing_given")
def test_without_a_default_letters_are_kept_here() -> None:
    add_account(name="one", url=URL)
    assert keeps_letters()
    assert url_of(mail_lane()) == ""


@pytest.mark.usefixtures("_nothing_given")
def test_of_two_accounts_one_is_the_default_and_what_it_rested_for_goes_on() -> None:
    one, two = add_account(name="one", url=URL), add_account(name="two", url="smtp://two.example")
    Lane.objects.filter(pk=mail_lane().pk).update(free_at=NOW, failures=3, last_error="535 no")
    make_default(account=one)
    make_default(account=two)
    assert list(Account.objects.filter(is_default=True)) == [two]
    assert url_of(mail_lane()) == "smtp://two.example"
    assert not keeps_letters()
    lane = mail_lane()
    assert (lane.free_at, lane.failures, lane.last_error) == (None, 0, "")
    stop_default()
    assert keeps_letters()


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_nothing_given")
def test_with_nothing_set_up_letters_wait_until_an_account_is_the_default(settings: Any) -> None:
    """As with docker-compose.yml, whose EMAIL_URL is empty unless it is set."""
    settings.EMAIL_URL = ""
    (letter,) = queued(1, lane=mail_lane())
    assert send_due(clock=Clock()).sent == 0
    letter.refresh_from_db()
    assert (letter.state, letter.attempts) == ("queued", 0)
    assert mail_lane().last_error == "Email isn’t set up. Use “Email set-up” in the admin, or set EMAIL_URL."
    with SmtpServer() as server:
        make_default(account=add_account(name="one", url=server.url))
        assert send_due(clock=Clock()).sent == 1
        assert len(server.messages) == 1


@pytest.mark.usefixtures("_nothing_given")
def test_the_environment_wins(settings: Any) -> None:
    make_default(account=add_account(name="one", url=URL, sender="One <one@one.example>"))
    assert usual_sender() == "One <one@one.example>"
    settings.GIVEN = frozenset({"DEFAULT_FROM_EMAIL"})
    assert (usual_sender(), usual_sender("one")) == ("Site <site@sender.example>", "One <one@one.example>")
    settings.GIVEN = frozenset({"EMAIL_URL"})
    assert (url_of(mail_lane()), keeps_letters(), usual_sender()) == ("", True, "Site <site@sender.example>")


@pytest.mark.usefixtures("_nothing_given")
def test_a_newsletters_letters_come_from_what_it_says_or_have_its_title_as_name() -> None:
    add_account(name="one", url=URL, sender="One <one@one.example>")
    titled = {"title": "Bread, butter <daily>", "from_email": ""}
    assert sender_of(SubscribableFactory(from_email="own@own.example")) == "own@own.example"
    assert sender_of(SubscribableFactory(options={"account": "one"}, **titled)) == (
        "Bread, butter daily <one@one.example>"
    )
    assert sender_of(SubscribableFactory(**titled)) == "Bread, butter daily <site@sender.example>"
    assert sender_of(BridgeFactory()) == ""


@given(title=st.text(min_size=1, max_size=300))
@pytest.mark.usefixtures("_nothing_given")
def test_any_title_is_a_name_that_can_be_sent(title: str) -> None:
    sender = parse_sender(named_sender("Site <site@sender.example>", title))
    assert sender.email == "site@sender.example"
    assert len(sender.name) <= MAX_NAME


@pytest.mark.usefixtures("_nothing_given")
def test_letters_wait_when_the_password_cannot_be_read_and_are_not_kept_here(settings: Any) -> None:
    make_default(account=add_account(name="one", url=URL))
    settings.SECRET_KEY = "a different key, with nothing to fall back on"
    session = EmailChannel().connect(LaneFacts("email", "default", {"url": url_of(mail_lane())}))
    outcome = session.send(None, key="", begun_at=None, now=NOW)
    assert isinstance(outcome, Temporary)
    assert "SECRET_KEY has changed. Enter it again under “Email set-up”" in outcome.text


@pytest.mark.usefixtures("_nothing_given")
def test_the_default_cannot_be_deleted() -> None:
    one = make_default(account=add_account(name="one", url=URL))
    with pytest.raises(ValidationError, match="one is the default"):
        drop_account(account=one)


@pytest.mark.usefixtures("_nothing_given")
def test_a_sender_that_is_no_address_is_refused() -> None:
    with pytest.raises(ValidationError, match="Expected Name"):
        add_account(name="one", url=URL, sender="nobody")
    one = add_account(name="one", url=URL, sender="one@one.example")
    assert alter_account(account=one, url=URL).sender == "one@one.example"


@pytest.mark.parametrize(
    "url",
    [
        "smtp://h.example:25",
        "smtps://a%40b%3A:p%2F%3F%23%20@h.example:465",
        "smtp+starttls://u:p@[::1]:587",
        "anymail+mailgun://k%3A%40@mg.example.org?region=eu",
        "anymail+mailjet://k:s@?webhook_key=w",
        "anymail+postal://k@?api_url=https%3A%2F%2Fpostal.example",
    ],
)
@pytest.mark.usefixtures("_nothing_given")
def test_a_url_made_of_fields_says_what_they_said(url: str) -> None:
    target = parse_email_url(url)
    assert parse_email_url(url_to(target)) == target  # type: ignore[arg-type]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_nothing_given")
def test_the_next_letter_goes_through_a_new_default_without_a_restart() -> None:
    with SmtpServer() as first, SmtpServer() as second:
        one, two = (add_account(name=name, url=server.url) for name, server in (("a", first), ("b", second)))
        for account in (one, two):
            make_default(account=account)
            queued(1, lane=mail_lane())
            assert send_due(clock=Clock()).sent == 1
        assert (len(first.messages), len(second.messages)) == (1, 1)
    assert not Delivery.objects.filter(state="stored").exists()
