"""The default account is used if no other is chosen, unless the environment sets one."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from channels.base import LaneFacts, Temporary
from channels.email.account_url import parse_email_url, url_to
from channels.email.address import MAX_NAME, parse_sender
from channels.email.channel import EmailChannel
from delivery.accounts.accounts import (
    add_account,
    alter_account,
    drop_account,
    keeps_letters,
    make_default,
    named_sender,
    sender_of,
    stop_default,
    url_of,
    usual_sender,
)
from delivery.engine.send_pass import send_due
from delivery.lanes.lanes import mail_lane
from delivery.models import Account, Delivery, Lane
from tests.delivery.ledger import Clock, queued
from tests.factories import NOW, BridgeFactory, SubscribableFactory
from tests.servers.smtp_server import SmtpServer

pytestmark = pytest.mark.django_db
URL = "smtps://ada:s3cret@one.example"


@pytest.fixture(autouse=True)
def _nothing_given(settings: Any) -> None:
    settings.EMAIL_URL, settings.GIVEN = "mailbox:", frozenset()
    settings.DEFAULT_FROM_EMAIL = "Site <site@sender.example>"


def test_without_a_default_letters_are_kept_here() -> None:
    add_account(name="one", url=URL)
    assert keeps_letters()
    assert url_of(mail_lane()) == ""


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


def test_the_environment_wins(settings: Any) -> None:
    make_default(account=add_account(name="one", url=URL, sender="One <one@one.example>"))
    assert usual_sender() == "One <one@one.example>"
    settings.GIVEN = frozenset({"DEFAULT_FROM_EMAIL"})
    assert (usual_sender(), usual_sender("one")) == ("Site <site@sender.example>", "One <one@one.example>")
    settings.GIVEN = frozenset({"EMAIL_URL"})
    assert (url_of(mail_lane()), keeps_letters(), usual_sender()) == ("", True, "Site <site@sender.example>")


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
def test_any_title_is_a_name_that_can_be_sent(title: str) -> None:
    sender = parse_sender(named_sender("Site <site@sender.example>", title))
    assert sender.email == "site@sender.example"
    assert len(sender.name) <= MAX_NAME


def test_letters_wait_when_the_password_cannot_be_read_and_are_not_kept_here(settings: Any) -> None:
    make_default(account=add_account(name="one", url=URL))
    settings.SECRET_KEY = "a different key, with nothing to fall back on"
    session = EmailChannel().connect(LaneFacts("email", "default", {"url": url_of(mail_lane())}))
    outcome = session.send(None, key="", begun_at=None, now=NOW)
    assert isinstance(outcome, Temporary)
    assert "SECRET_KEY has changed. Enter it again under “Email set-up”" in outcome.text


def test_the_default_cannot_be_deleted() -> None:
    one = make_default(account=add_account(name="one", url=URL))
    with pytest.raises(ValidationError, match="one is the default"):
        drop_account(account=one)


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
def test_a_url_made_of_fields_says_what_they_said(url: str) -> None:
    target = parse_email_url(url)
    assert parse_email_url(url_to(target)) == target  # type: ignore[arg-type]


@pytest.mark.django_db(transaction=True)
def test_the_next_letter_goes_through_a_new_default_without_a_restart() -> None:
    with SmtpServer() as first, SmtpServer() as second:
        one, two = (add_account(name=name, url=server.url) for name, server in (("a", first), ("b", second)))
        for account in (one, two):
            make_default(account=account)
            queued(1, lane=mail_lane())
            assert send_due(clock=Clock()).sent == 1
        assert (len(first.messages), len(second.messages)) == (1, 1)
    assert not Delivery.objects.filter(state="stored").exists()
