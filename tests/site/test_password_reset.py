"""Password reset: one response for all, a link by mail that works once, and limits."""

import logging
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.contrib.auth.tokens import default_token_generator
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.http import int_to_base36

from common.clock import utcnow
from delivery.engine.send_pass import send_due
from delivery.letters.notices import take_notices
from delivery.models import Delivery, MailboxMessage
from feedletter_site.models import ApiToken
from feedletter_site.services.tokens import make_token as make_api_token
from reader.models import AppPassword, Reader, Token
from reader.people.tokens import make_app_password, make_token
from subscriptions.models import SignInRequest
from tests.servers.smtp_server import SmtpServer

pytestmark = pytest.mark.django_db(transaction=True)
ASK = "/account/password-reset/"
NEW = "another-horse-2"


@pytest.fixture(autouse=True)
def _ada(settings: Any) -> None:
    User.objects.create_superuser("ada", "Ada@example.org", "right-horse-1")
    settings.EMAIL_URL = "smtp://127.0.0.1:1"


def ask(email: str, ip: str = "203.0.113.7") -> Any:
    return Client().post(ASK, {"email": email}, REMOTE_ADDR=ip)


def mailed() -> int:
    take_notices(now=utcnow())
    assert not SignInRequest.objects.exists()
    return Delivery.objects.count()


@pytest.mark.django_db
def test_the_page_does_the_same_for_known_and_unknown_addresses() -> None:
    statements = []
    for email in ("ada@example.org", "bob@example.org"):
        with CaptureQueriesContext(connection) as queries:
            ask(email)
        statements.append([re.sub(r"'[^']*'|\d+", "?", query["sql"]) for query in queries])
    assert statements[0] == statements[1]


@pytest.mark.django_db
def test_a_request_that_waited_for_a_day_is_dropped() -> None:
    ask("ada@example.org")
    take_notices(now=utcnow() + timedelta(days=1, minutes=1))
    assert (SignInRequest.objects.count(), Delivery.objects.count()) == (0, 0)


@pytest.mark.django_db
@pytest.mark.parametrize("page", ["/account/password/", "link"])
@pytest.mark.parametrize("ends", [True, False])
@pytest.mark.needs("reader")
def test_a_new_password_disconnects_all_apps_if_wanted(page: str, ends: bool) -> None:
    ada, now = User.objects.get(), utcnow()
    reader = Reader.objects.create(user=ada, slug="ada")
    make_app_password(reader=reader, app="phone", now=now)
    make_token(reader=reader, client="app", now=now)
    make_api_token(name="shop", scopes=["feeds:read"], now=now, made_by=ada)
    client = Client()
    client.force_login(ada)
    if page == "link":
        client.logout()
        key = f"{int_to_base36(ada.pk)}/{default_token_generator.make_token(ada)}"
        page = client.get(f"{ASK}{key}/", follow=True).redirect_chain[-1][0]
    form = {"oldpassword": "right-horse-1", "password1": NEW, **({"end_apps": "on"} if ends else {})}
    assert client.post(page, form).status_code == 302
    live = [model.objects.filter(revoked_at=None).count() for model in (AppPassword, Token, ApiToken)]
    assert live == ([0, 0, 0] if ends else [1, 1, 1])


@pytest.mark.django_db
def test_the_answer_is_the_same_whether_there_is_such_a_user() -> None:
    User.objects.create_user("reader", "reader@example.org", "right-horse-1")
    User.objects.create_user("left", "left@example.org", "right-horse-1", is_staff=True, is_active=False)
    User.objects.create_user("keyless", "keyless@example.org")
    names = ("ada", "reader", "left", "keyless", "no")
    answers = [ask(f"{name}@example.org", ip=f"203.0.113.{number}") for number, name in enumerate(names)]
    assert {(each.status_code, each.headers["Location"]) for each in answers} == {(302, f"{ASK}sent/")}
    assert mailed() == 2
    mails = Delivery.objects.order_by("pk")
    assert [mail.destination.core for mail in mails] == ["ada@example.org", "reader@example.org"]
    assert {tuple(mail.context) for mail in mails} == {("user",)}
    assert "Forgot your password" in Client().get("/account/sign-in/").content.decode()


def test_the_link_comes_by_mail_and_works_once(settings: Any) -> None:
    with SmtpServer() as server:
        settings.EMAIL_URL = server.url
        ask("ada@example.org")
        assert send_due().sent == 1
        text = server.messages[0].data.decode().replace("=\r\n", "").replace("=3D", "=")
    (path,) = set(re.findall(rf"{settings.SITE_URL}({ASK}[\w-]+/[\w-]+/)", text))
    assert "a new password for ada" in text
    client = Client()
    form = client.get(path, follow=True)
    assert "no-store" in form.headers["Cache-Control"]
    said = client.post(form.redirect_chain[-1][0], {"password1": "12345"}).content.decode()
    assert "too short" in said
    portuguese = {"accept-language": "pt"}
    refused = client.post(form.redirect_chain[-1][0], {"password1": "12345"}, headers=portuguese)
    assert "Esta palavra-passe é demasiado curta." in refused.content.decode()
    done = client.post(form.redirect_chain[-1][0], {"password1": NEW}, follow=True)
    assert "Password changed" in done.content.decode()
    assert User.objects.get(username="ada").check_password(NEW)
    assert "already used" in Client().get(path, follow=True).content.decode()


def test_one_mail_lists_the_users_of_an_address_with_its_owner_first(settings: Any) -> None:
    User.objects.filter(username="ada").delete()
    for name, rights in (("eve1", {}), ("eve2", {}), ("staff", {"is_staff": True}), ("eve3", {})):
        User.objects.create_user(name, "ada@example.org", "right-horse-1", **rights)
    User.objects.create_superuser("owner", "ada@example.org", "right-horse-1")
    with SmtpServer() as server:
        settings.EMAIL_URL = server.url
        ask("ada@example.org")
        assert send_due().sent == 1
        text = server.messages[0].data.decode().replace("=\r\n", "").replace("=3D", "=")
    assert re.findall(r"^\* (\w+):\s+http", text, re.M) == ["staff", "eve1", "eve2", "eve3"]
    assert "a new password for owner" in text


@pytest.mark.django_db
@pytest.mark.parametrize("user", ["%20", "%00", "1%00", "%C3%A9", "-1", "z" * 13, "z" * 40, "%C2%B2"])
def test_a_link_that_is_none_is_said_to_be_invalid(user: str) -> None:
    for tail in ("", ")"):
        answer = Client().get(f"{ASK}{user}/a-b{tail}/", follow=True)
        assert (answer.status_code, "already used" in answer.content.decode()) == (200, True)


@pytest.mark.django_db
def test_one_network_asks_so_often_and_causes_so_many_mails(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        for _ in range(10):
            assert ask("ada@example.org").status_code == 302
    assert mailed() == 3
    assert caplog.messages[0] == "A new password was asked for from 203.0.113.7: 'ada@example.org'"
    refused = ask("no@example.org")
    assert (refused.status_code, "Too many attempts" in refused.content.decode()) == (429, True)
    assert ask("ada@example.org", ip="198.51.100.2").status_code == 302
    assert mailed() == 4


@pytest.mark.django_db
def test_without_mail_it_says_what_to_do_and_keeps_no_link(settings: Any) -> None:
    settings.EMAIL_URL = ""
    assert "manage.py changepassword NAME" in Client().get(ASK).content.decode()
    assert ask("ada@example.org").status_code == 302
    assert mailed() == 0


def a_person_with(*permissions: str) -> Client:
    user = User.objects.create_user("bob", "bob@example.org", "right-horse-1", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def test_the_mailbox_shows_links_of_accounts_to_superusers_only(settings: Any) -> None:
    settings.EMAIL_URL, settings.EMBEDDED = "mailbox:", True
    ask("ada@example.org")
    assert mailed() == 1
    send_due()
    message = MailboxMessage.objects.get()
    pages = ["/mailbox/", "/mailbox/?q=ada", f"/mailbox/{message.pk}/", f"/mailbox/{message.pk}/html/"]
    owner, bob = Client(), a_person_with("view_delivery", "view_subscription")
    owner.force_login(User.objects.get(username="ada"))
    for page in pages:
        assert owner.get(page).status_code == 200
        answer = bob.get(page)
        assert answer.status_code in (200, 403)
        assert "new password" not in answer.content.decode()
    assert "Choose a new password" in owner.get(pages[0]).content.decode()
    assert bob.get(pages[0]).status_code == 200
    assert bob.get(pages[2]).status_code == bob.get(pages[3]).status_code == 403
