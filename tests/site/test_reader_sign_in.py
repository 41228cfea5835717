"""Readers' sign-in (not into the admin), registration, and password reset."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from common.clock import utcnow
from common.rates import DAY, Limit
from feedletter_site.sign_in import readers as sign_in
from reader.models import Reader
from reader.people.readers import add_reader
from subscriptions.subscribers import antispam
from tests.factories import NOW

NEEDS_APP = "reader"

pytestmark = pytest.mark.django_db
PASSWORD, NEW = "a-long-pass-17", "another-pass-18"
SIGN_IN, JOIN = "/account/sign-in/", "/reader/join/"


@pytest.fixture
def ada(db: None) -> Reader:
    reader = add_reader(name="ada", email="ada@example.org", now=NOW)
    reader.user.set_password(PASSWORD)
    reader.user.save()
    return reader


def signed_in(next_: str) -> str:
    given = {"login": "ada", "password": PASSWORD, "next": next_}
    return str(Client().post(SIGN_IN, given).headers["Location"])


@pytest.mark.parametrize("to", ["", "https://x.example/", "//x.example/", "javascript:alert(1)"])
def test_nobody_lands_elsewhere(settings: Any, ada: Reader, to: str) -> None:
    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, "x.example"]
    settings.CSRF_TRUSTED_ORIGINS = ["https://x.example"]
    assert signed_in(to) == "/reader/"
    User.objects.update(is_staff=True)
    assert signed_in(to) == "/admin/"
    assert signed_in("/reader/starred/") == "/reader/starred/"


def test_a_reader_opens_no_page_of_the_admin(ada: Reader) -> None:
    client = Client()
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
        assert JOIN in client.get(SIGN_IN).content.decode()
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
        assert Client().post(JOIN, self.filled(website="https://spam.example"))["Location"] == SIGN_IN
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
