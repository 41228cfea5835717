"""Trying a mail account: one test mail, or a sentence with the error and the remedy."""

import socket
from typing import Any

import pytest
from django.db import transaction

from channels.rules.meaning import Cause, Meaning, trouble_of_cause, trouble_of_refusal
from common.ports.channels import InvalidDestination
from common.transactions import NetworkInTransaction
from delivery.accounts.accounts import add_account
from delivery.letters import trial
from delivery.letters.trial import try_account
from delivery.models import Account, Delivery
from tests.factories import NOW, SuppressionFactory
from tests.servers import esp_server
from tests.servers.esp_server import KEY, EspServer
from tests.servers.smtp_server import STALL, SmtpServer

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS"),
]
ADA = "ada@example.org"


@pytest.fixture(autouse=True)
def _sender(settings: Any) -> None:
    settings.DEFAULT_FROM_EMAIL = "Site <site@sender.example>"


def tried(url: str, to: str = ADA) -> str:
    Delivery.objects.all().delete()
    Account.objects.all().delete()
    return try_account(account=add_account(name="one", url=url), to=to, now=NOW)


def test_what_works_is_remembered_and_the_mail_stands_in_the_ledger() -> None:
    with SmtpServer(login=("ada", "s3cret")) as server:
        assert tried(server.url) == ""
        (message,) = server.messages
    assert message.recipient == ADA
    (mail,) = Delivery.objects.all()
    assert (mail.kind, mail.state, mail.lane.account, mail.lease_token) == ("test", "sent", "one", None)
    account = Account.objects.get()
    assert (account.tried_at, account.trouble) == (NOW, "")


def test_a_wrong_password_is_said_without_it_and_nothing_is_left_to_send() -> None:
    with SmtpServer(login=("ada", "s3cret")) as server:
        said = tried(server.url.replace("s3cret", "wr0ng"))
        assert not server.messages
    assert said.startswith("127.0.0.1 refused the user and password. Enter both again. Its words: 535")
    assert "wr0ng" not in said
    assert Account.objects.get().trouble == said
    assert not Delivery.objects.exists()


def test_what_a_server_repeats_of_the_password_is_not_shown() -> None:
    with SmtpServer(login=("ada", "s3cret")) as server:
        server.answer("auth", "535 5.7.8 wr0ng is wrong")
        assert "wr0ng" not in tried(server.url.replace("s3cret", "wr0ng"))


def test_each_obstacle_has_its_sentence() -> None:
    with SmtpServer() as server:
        assert "offer STARTTLS on port" in tried(server.url.replace("smtp:", "smtp+starttls:"))
        assert "use TLS on port" in tried(server.url.replace("smtp:", "smtps:"))
        assert "accept a user and password" in tried(server.url.replace("//", "//user:secret@"))
        server.answer("mail", "553 5.7.1 Sender address rejected: not owned by user", times=1)
        said = tried(server.url)
        assert "doesn’t let this account send from Site <site@sender.example>" in said
        server.answer("connect", "554 no", times=1)
        assert "accept email from us now" in tried(server.url)
    assert "127.0.0.1 doesn’t respond on port" in tried(server.url)


def test_a_silent_server_is_waited_for_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "TRIAL_MAIL_SECONDS", 0.1)
    with SmtpServer() as server:
        server.answer("ehlo", STALL)
        assert "It took longer than" in tried(server.url)
    monkeypatch.setattr(trial, "GIVEN_UP_AFTER", 0.05)
    monkeypatch.setattr(trial, "TRIAL_MAIL_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        assert "It took longer than" in tried(f"smtp://127.0.0.1:{deaf.getsockname()[1]}")


@pytest.mark.usefixtures("loopback_allowed")
def test_a_service_is_tried_over_its_api() -> None:
    with EspServer(esp_server.postmark) as server:
        assert tried(f"anymail+postmark://{KEY}@example.org?api_url={server.url}") == ""
        assert len(server.taken) == 1
        said = tried(f"anymail+postmark://wr0ng@example.org?api_url={server.url}")
    assert "Enter a key that is allowed to send" in said
    assert "wr0ng" not in said


def test_no_address_and_one_that_is_never_written_to_are_refused() -> None:
    account = add_account(name="one", url="smtp://127.0.0.1:1")
    with pytest.raises(InvalidDestination):
        try_account(account=account, to="nobody", now=NOW)
    SuppressionFactory(core=ADA)
    with pytest.raises(InvalidDestination, match="not to be written to"):
        try_account(account=account, to=ADA, now=NOW)
    with transaction.atomic(), pytest.raises(NetworkInTransaction):
        try_account(account=account, to=ADA, now=NOW)


def test_every_cause_has_words_and_the_provider_is_quoted_where_the_login_fails() -> None:
    proof = "An app password."
    said = {cause: trouble_of_cause(cause, "smtp.gmail.com", 465, "535 no.", proof=proof) for cause in Cause}
    assert len(set(said.values())) == len(Cause)
    assert said[Cause.LOGIN].endswith("Enter both again. It must be: An app password. Its words: 535 no.")
    assert "server called smtp.gmail.com" in said[Cause.NO_HOST]
    relay = trouble_of_refusal(Meaning.RELAY, "smtp.gmail.com", "a@gmail.com", "554 no")
    assert relay.startswith(
        "smtp.gmail.com accepted the sign-in but refused the test email. Check the server"
    )
