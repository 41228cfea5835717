"""Your account: sessions to sign out, and a change of the own address."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from common.clock import utcnow
from common.refused import Refused
from delivery.letters.build import opened_context
from delivery.models import Delivery
from feedletter_site.team.account import ask_for_address, browser_words, change_address

pytestmark = pytest.mark.django_db
PAGE = "/admin/account/"
PASSWORD = "a-long-pass-17"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1 Version/19.0 Safari/604.1"


@pytest.fixture
def ada(settings: Any) -> User:
    settings.EMAIL_URL = "mailbox:"
    return User.objects.create_superuser("ada@example.org", "ada@example.org", PASSWORD)


def signed_in(user: User, browser: str = FIREFOX) -> Client:
    client = Client(headers={"user-agent": browser})
    client.post(reverse("account_login"), {"login": user.username, "password": PASSWORD})
    return client


def is_in(client: Client) -> bool:
    return client.get(reverse("admin:index")).status_code == 200


def buttons(client: Client) -> dict[str, str]:
    """Return the values of the buttons by their labels."""
    page = client.get(PAGE).content.decode()
    return {label: key for key, label in re.findall('value="([0-9]+)" aria-label="([^,]*),', page)}


def test_sessions_are_listed_in_words_and_one_is_signed_out(ada: User) -> None:
    desk, phone = signed_in(ada), signed_in(ada, PHONE)
    listed = buttons(desk)
    assert listed.keys() == {"Sign out Firefox on Linux", "Sign out Safari on an iPhone"}
    assert desk.get(PAGE).content.decode().count("this browser") == 1
    desk.post(PAGE, {"session": listed["Sign out Safari on an iPhone"]})
    assert (is_in(desk), is_in(phone)) == (True, False)


def test_all_others_are_signed_out(ada: User) -> None:
    desk, phone, third = signed_in(ada), signed_in(ada, PHONE), signed_in(ada)
    desk.post(PAGE, {"session": "others"})
    assert (is_in(desk), is_in(phone), is_in(third)) == (True, False, False)


def test_nobody_signs_out_somebody_else(ada: User) -> None:
    bo = User.objects.create_superuser("bo", "bo@example.org", PASSWORD)
    desk, other = signed_in(ada), signed_in(bo, PHONE)
    (key,) = buttons(other).values()
    desk.post(PAGE, {"session": key})
    assert is_in(other)


@pytest.mark.parametrize("key", ["", "x", "9" * 30, "٣"])
def test_an_unknown_session_is_no_error(ada: User, key: str) -> None:
    assert signed_in(ada).post(PAGE, {"session": key}).status_code == 302


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        (FIREFOX, "Firefox on Linux"),
        (PHONE, "Safari on an iPhone"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit Chrome/140 Safari/537 Edg/140", "Edge on Windows"),
        ("Mozilla/5.0 (Linux; Android 16) AppleWebKit Chrome/140 Mobile Safari", "Chrome on Android"),
        ("curl/8", "Another browser"),
        ("", "Another browser"),
    ],
)
def test_a_browser_in_words(agent: str, words: str) -> None:
    assert browser_words(agent) == words


def mailed_to(address: str) -> dict[str, Any]:
    mail = Delivery.objects.filter(destination__core=address.lower(), template="alert").latest("pk")
    return opened_context(mail.context)


def test_an_address_changes_by_the_link_sent_to_it_and_the_old_one_is_told(ada: User) -> None:
    desk = signed_in(ada)
    desk.post(PAGE, {"email": "Ada@new.example"})
    ada.refresh_from_db()
    assert ada.email == "ada@example.org"
    link = mailed_to("Ada@new.example")["page_url"]
    desk.get(link)
    ada.refresh_from_db()
    assert ada.email == "ada@example.org"
    desk.post(link)
    ada.refresh_from_db()
    assert (ada.email, ada.username) == ("Ada@new.example", "Ada@new.example")
    assert "Ada@new.example" in mailed_to("ada@example.org")["sentences"]
    assert is_in(desk)
    assert "already used" in desk.post(link, follow=True).content.decode()


def test_a_name_that_is_no_address_stays(ada: User) -> None:
    User.objects.update(username="ada")
    ask_for_address(user=ada, email="ada@new.example", now=utcnow())
    change_address(user=ada, token=a_token(), now=utcnow())
    assert User.objects.get().username == "ada"


def a_token() -> str:
    return str(mailed_to("ada@new.example")["page_url"]).rstrip("/").rpartition("/")[2]


def test_somebody_elses_link_changes_nothing(ada: User) -> None:
    bo = User.objects.create_superuser("bo", "bo@example.org", PASSWORD)
    ask_for_address(user=ada, email="ada@new.example", now=utcnow())
    with pytest.raises(Refused, match="another account"):
        change_address(user=bo, token=a_token(), now=utcnow())


def test_a_link_expires(ada: User) -> None:
    ask_for_address(user=ada, email="ada@new.example", now=utcnow())
    with pytest.raises(Refused, match="expired"):
        change_address(user=ada, token=a_token(), now=utcnow() + timedelta(hours=25))


def test_an_address_of_somebody_else_is_refused_when_asked_and_when_used(ada: User) -> None:
    ask_for_address(user=ada, email="ada@new.example", now=utcnow())
    User.objects.create_user("eve", "ADA@new.example")
    with pytest.raises(Refused, match="Somebody else"):
        ask_for_address(user=ada, email="ada@New.example", now=utcnow())
    with pytest.raises(Refused, match="Somebody else"):
        change_address(user=ada, token=a_token(), now=utcnow())


def test_links_to_addresses_are_limited(ada: User) -> None:
    for number in range(5):
        ask_for_address(user=ada, email=f"ada{number}@new.example", now=utcnow())
    with pytest.raises(Refused, match="too many"):
        ask_for_address(user=ada, email="ada@new.example", now=utcnow())
