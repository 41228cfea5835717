"""Readers' sign-in (not into the admin), registration, and password reset."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from common.clock import utcnow
from common.rates import DAY, Limit
from delivery.engine.send_pass import send_due
from delivery.models import Delivery
from feedletter_site.sign_in import readers as sign_in
from reader.models import Reader
from reader.people.readers import add_reader
from subscriptions.subscribers import antispam
from tests.factories import NOW
from tests.servers.smtp_server import SmtpServer

NEEDS_APP = "reader"

pytestmark = pytest.mark.django_db(transaction=True)
PASSWORD, NEW = "a-long-pass-17", "another-pass-18"
ASK, JOIN = "/reader/password-reset/", "/reader/join/"


@pytest.fixture
def ada(db: None) -> Reader:
    reader = add_reader(name="ada", email="ada@example.org", now=NOW)
    reader.user.set_password(PASSWORD)
    reader.user.save()
    return reader


def signed_in(next_: str) -> str:
    given = {"username": "ada", "password": PASSWORD, "next": next_}
    return str(Client().post("/reader/sign-in/", given).headers["Location"])


@pytest.mark.parametrize("is_staff", [False, True])
@pytest.mark.parametrize(
    "to", ["/admin/", "/admin/reader/reader/", "http://testserver/admin/", "https://x.example/"]
)
def test_nobody_lands_in_the_admin_or_elsewhere(ada: Reader, is_staff: bool, to: str) -> None:
    User.objects.update(is_staff=is_staff)
    assert signed_in(to) == "/reader/"


def test_a_reader_opens_no_page_of_the_admin(ada: Reader) -> None:
    client = Client()
    client.post("/admin/login/", {"username": "ada", "password": PASSWORD})
    assert client.get("/reader/").status_code == 302
    client.force_login(ada.user)
    for address in ("/admin/", "/admin/reader/reader/", "/admin/reader/invitation/add/", "/mailbox/"):
        assert "/admin/login/" in client.get(address).headers["Location"]


class TestJoin:
    """Registration while READER=open."""

    @pytest.fixture(autouse=True)
    def _open(self, settings: Any) -> None:
        settings.READER = "open"

    def filled(self, **more: str) -> dict[str, str]:
        """Return the form of a person who answered the question."""
        now = utcnow() - timedelta(minutes=1)
        question = antispam.new_question(now=now, ip="127.0.0.1")
        reply = str(sum(antispam._numbers(question, now)))
        asked = {"shown": antispam.shown_stamp(now=now), "question": question, "reply": reply}
        return {"name": "eve", "password1": PASSWORD, **asked, **more}

    def test_whoever_comes_chooses_name_and_password_and_is_in(self) -> None:
        client = Client()
        assert JOIN in client.get("/reader/sign-in/").content.decode()
        form = client.get(JOIN).content.decode()
        assert "data-challenge" in form
        assert "How much is" in form.partition("<noscript>")[2], "asked at once where no script runs"
        assert client.post(JOIN, self.filled())["Location"] == "/reader/"
        assert "You don’t follow any feeds yet" in client.get("/reader/").content.decode()
        user = Reader.objects.get().user
        assert (user.username, user.is_staff, user.is_superuser) == ("eve", False, False)

    @pytest.mark.parametrize("setting", ["staff", "invited"])
    def test_there_is_no_such_page_otherwise(self, settings: Any, setting: str) -> None:
        settings.READER = setting
        assert Client().get(JOIN).status_code == 404
        assert Client().post(JOIN, self.filled()).status_code == 404
        assert not Reader.objects.exists()

    def test_a_program_is_asked_a_question_and_one_that_fills_in_all_gets_nowhere(self) -> None:
        asked = Client().post(JOIN, {"name": "eve", "password1": PASSWORD})
        assert (asked.status_code, "How much is" in asked.content.decode()) == (400, True)
        assert (
            Client().post(JOIN, self.filled(website="https://spam.example"))["Location"] == "/reader/sign-in/"
        )
        assert not Reader.objects.exists()

    def test_a_name_is_taken_once(self, ada: Reader) -> None:
        refused = Client().post(JOIN, self.filled(name="ada"))
        assert "This name is taken" in refused.content.decode()
        assert "--user" not in refused.content.decode()

    def test_so_many_come_from_one_network(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sign_in, "NEWCOMERS_OF_NETWORK", Limit("reader join ip", 2, DAY))
        statuses = [Client().post(JOIN, self.filled(name=name)).status_code for name in ("a1", "b1", "c1")]
        assert statuses == [302, 302, 429]
        assert Reader.objects.count() == User.objects.count() == 2
        elsewhere = Client(REMOTE_ADDR="203.0.113.9")
        now = utcnow() - timedelta(minutes=1)
        question = antispam.new_question(now=now, ip="203.0.113.9")
        answered = {"question": question, "reply": str(sum(antispam._numbers(question, now)))}
        assert elsewhere.post(JOIN, self.filled(name="c1", **answered)).status_code == 302

    def test_whoever_is_signed_in_needs_no_password(self) -> None:
        client = Client()
        client.force_login(User.objects.create_user("eve"))
        assert client.get(JOIN)["Location"] == "/reader/begin/"


class TestForgottenPassword:
    """A link by mail, and the same response for all."""

    def test_the_answer_is_the_same_whether_there_is_such_a_reader(self, settings: Any, ada: Reader) -> None:
        settings.EMAIL_URL = "smtp://127.0.0.1:1"
        User.objects.create_user("boss", "boss@example.org", PASSWORD, is_staff=True)
        for email in ("ada@example.org", "boss@example.org", "no@example.org"):
            answer = Client().post(ASK, {"email": email})
            assert (answer.status_code, answer["Location"]) == (302, f"{ASK}sent/")
        (mail,) = Delivery.objects.all()
        assert (mail.destination.core, list(mail.context)) == ("ada@example.org", ["reader"])

    def test_the_link_comes_by_mail_and_works_once(self, settings: Any, ada: Reader) -> None:
        with SmtpServer() as server:
            settings.EMAIL_URL = server.url
            Client().post(ASK, {"email": "ada@example.org"})
            assert send_due().sent == 1
            text = server.messages[0].data.decode().replace("=\r\n", "").replace("=3D", "=")
        (path,) = set(re.findall(rf"{settings.SITE_URL}({ASK}[\w-]+/[\w-]+/)", text))
        client = Client()
        form = client.get(path, follow=True)
        given = {"new_password1": NEW}
        done = client.post(form.redirect_chain[-1][0], given)
        assert done["Location"] == "/reader/sign-in/"
        assert User.objects.get().check_password(NEW)
        assert "already used" in Client().get(path, follow=True).content.decode()

    def test_without_a_mail_server_it_says_so_and_keeps_no_link(self, settings: Any, ada: Reader) -> None:
        settings.EMAIL_URL = "mailbox:"
        assert "This site can’t send email" in Client().get(ASK).content.decode()
        assert Client().post(ASK, {"email": "ada@example.org"}).status_code == 302
        assert not Delivery.objects.exists()

    def test_one_network_asks_so_often(self, settings: Any, ada: Reader) -> None:
        settings.EMAIL_URL = "smtp://127.0.0.1:1"
        statuses = [Client().post(ASK, {"email": "ada@example.org"}).status_code for _ in range(11)]
        assert statuses == [302] * 10 + [429]
        assert Delivery.objects.count() == 3
