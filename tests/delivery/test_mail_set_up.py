"""The page that sets up mail: provider, fields, test, default; no password is shown again."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from channels.email.esp.services import SERVICES
from channels.email.esp.settings import EspSettings
from channels.email.smtp_login import SmtpSettings
from common.clock import utcnow
from delivery.accounts.accounts import add_account, make_default, note_refused_call, target_of
from delivery.accounts.providers import PROVIDERS
from delivery.models import Account
from tests.servers.smtp_server import SmtpServer

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS"),
]
PAGE = "/admin/mail/"
ADD = "/admin/delivery/account/add/"
SERVER = {
    "name": "one", "user": "ada@one.example", "password": "s3cret p@ss/word", "sender": "",
    "host": "mail.one.example", "port": "587", "security": "starttls",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _nothing_given(settings: Any) -> None:
    settings.EMAIL_URL, settings.GIVEN = "mailbox:", frozenset()
    settings.DEFAULT_FROM_EMAIL = "Feedletter <letters@127.0.0.1>"


def shown(client: Client, url: str = PAGE) -> str:
    answer = client.get(url, follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


def act(client: Client, what: str, account: Account | None = None, **more: str) -> str:
    answer = client.post(
        PAGE, {"act": what, "account": str(account.pk) if account else "", **more}, follow=True
    )
    assert answer.redirect_chain[0][1] == 302
    return answer.content.decode()


def test_every_provider_has_a_form_with_its_server(admin_client: Client) -> None:
    page = shown(admin_client)
    assert len(PROVIDERS) == 20
    for key in (*PROVIDERS, *SERVICES, "other"):
        assert f'href="{ADD}?provider={key}"' in page
    form = shown(admin_client, f"{ADD}?provider=gmail")
    assert 'value="smtp.gmail.com"' in form
    assert "An app password" in form
    assert "API key" in shown(admin_client, f"{ADD}?provider=mailgun")
    assert "Choose who sends your email" in shown(admin_client, ADD)


def test_fields_become_an_account_whose_password_nobody_sees_again(admin_client: Client) -> None:
    answer = admin_client.post(f"{ADD}?provider=other", SERVER, follow=True)
    account = Account.objects.get()
    assert target_of(account) == SmtpSettings(
        "mail.one.example", 587, "ada@one.example", SERVER["password"], "starttls"
    )
    assert account.sender == "ada@one.example"
    assert answer.redirect_chain[0][0] == f"{PAGE}?account={account.pk}#account-{account.pk}"
    change = reverse("admin:delivery_account_change", args=[account.pk])
    history = reverse("admin:delivery_account_history", args=[account.pk])
    pages = [answer.content.decode(), *(shown(admin_client, url) for url in (change, history, PAGE))]
    assert not any("s3cret" in page for page in pages)
    assert not LogEntry.objects.filter(change_message__contains="s3cret").exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"host": "https://one.example/"}, "Enter only the host"),
        ({"password": ""}, "Enter the password too."),
        ({"user": "", "sender": "a@one.example"}, "Enter both user and password"),
        ({"user": "ada"}, "Enter the sender"),
        ({"sender": "nobody"}, "Expected Name"),
        ({"port": "0"}, "greater than or equal to 1"),
        ({"name": "default"}, "Use a–z, 0–9 and dashes."),
    ],
)
def test_what_is_wrong_is_said_at_its_field(admin_client: Client, changes: dict[str, str], said: str) -> None:
    answer = admin_client.post(f"{ADD}?provider=other", SERVER | changes)
    assert answer.status_code == 200
    assert said in answer.content.decode()
    assert "s3cret" not in answer.content.decode()
    assert not Account.objects.exists()


def test_a_stored_password_stays_with_its_own_server(admin_client: Client) -> None:
    admin_client.post(f"{ADD}?provider=other", SERVER)
    account = Account.objects.get()
    change = reverse("admin:delivery_account_change", args=[account.pk])
    kept = {name: value for name, value in SERVER.items() if name != "name"} | {"password": ""}
    admin_client.post(change, kept | {"user": "eve@one.example"})
    said = admin_client.post(change, kept | {"host": "evil.example"}).content.decode()
    assert "Enter the password again when you change the server, port or security." in said
    assert "the password again" in admin_client.post(change, kept | {"security": "plain"}).content.decode()
    account = Account.objects.get()
    target = target_of(account)
    assert isinstance(target, SmtpSettings)
    assert (target.host, target.user, target.password) == (
        "mail.one.example",
        "eve@one.example",
        SERVER["password"],
    )


def test_a_service_keeps_its_key_and_options(admin_client: Client) -> None:
    fields = {"name": "mg", "key": "k:3y@", "domain": "mg.example.org", "sender": "a@mg.example.org"}
    admin_client.post(f"{ADD}?provider=mailgun", fields | {"option_region": "eu", "option_webhook_key": "w"})
    account = Account.objects.get()
    change = reverse("admin:delivery_account_change", args=[account.pk])
    admin_client.post(
        change, {"key": "", "domain": "mg2.example.org", "option_region": "us", "sender": "a@b.example"}
    )
    account = Account.objects.get()
    target = target_of(account)
    assert isinstance(target, EspSettings)
    assert (target.key, target.domain) == ("k:3y@", "mg2.example.org")
    assert dict(target.options) == {"region": "us", "webhook_key": "w"}


def test_it_is_tried_then_made_the_default_and_what_stands_is_said(admin_client: Client) -> None:
    assert "Emails are kept in the mailbox here and not sent" in shown(admin_client)
    with SmtpServer(login=("ada", "s3cret")) as server:
        bad = add_account(name="bad", url=server.url.replace("s3cret", "wr0ng"), sender="a@one.example")
        said = act(admin_client, "try", bad, to="ada@example.org")
        assert "bad doesn’t work yet." in said
        assert "127.0.0.1 refused the user and password. Enter both again." in said
        assert "Make default" not in said
        good = add_account(name="good", url=server.url, sender="a@one.example")
        assert "good works. Its server accepted a test email to ada@example.org." in act(
            admin_client, "try", good, to="ada@example.org"
        )
        assert server.recipients == ["ada@example.org"]
    assert "isn’t an email address" in act(admin_client, "try", good, to="nobody")
    said = act(admin_client, "default", good)
    assert "Emails are sent through good (127.0.0.1" in said
    assert "without a sender use <b>a@one.example</b>" in said
    assert "which subscribers can’t open" in said
    assert "kept in the mailbox" in act(admin_client, "keep")


def test_the_environment_wins_and_the_page_says_so(admin_client: Client, settings: Any) -> None:
    make_default(account=add_account(name="one", url="smtp://one.example"))
    settings.EMAIL_URL, settings.GIVEN = "smtps://u:hunter2@env.example", frozenset({"EMAIL_URL"})
    page = shown(admin_client)
    wins = "EMAIL_URL is set in the environment and overrides the choice here."
    assert f"Emails are sent through env.example:465, encrypted. {wins}" in page
    assert "hunter2" not in page
    assert "Make default" not in page


def test_who_may_only_look_changes_nothing(client: Client) -> None:
    user = User.objects.create_user("eve", password="x", is_staff=True)
    client.force_login(user)
    assert client.get(PAGE).status_code == 403
    user.user_permissions.add(Permission.objects.get(codename="view_account"))
    account = add_account(name="one", url="smtp://one.example")
    assert "Try it" not in shown(client)
    for what in ("try", "default", "keep"):
        assert client.post(PAGE, {"act": what, "account": account.pk, "to": "a@b.example"}).status_code == 403
    assert not Account.objects.filter(is_default=True).exists()


def test_a_refused_webhook_call_is_shown_with_its_account(admin_client: Client, settings: Any) -> None:
    gun = add_account(name="gun", url="anymail+mailgun://k3y@mg.example.org")
    mark = add_account(name="mark", url="anymail+postmark://k3y@example.org")
    note_refused_call(esp="mailgun", reason="Its signature does not fit.", now=utcnow())
    assert "Its signature" in shown(admin_client, f"/admin/delivery/account/{gun.pk}/change/")
    assert "Its signature" not in shown(admin_client, f"/admin/delivery/account/{mark.pk}/change/")
    settings.EMAIL_URL, settings.GIVEN = "anymail+mailgun://k3y@mg.example.org", frozenset({"EMAIL_URL"})
    assert "Its signature" in shown(admin_client)
