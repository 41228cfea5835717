"""The sign-in counts and logs wrong passwords, and soon refuses more; the admin has no other."""

import logging
import re
from http.cookies import SimpleCookie
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from common.models import Tally
from feedletter_site.models import ApiToken

pytestmark = pytest.mark.django_db
LOGIN = "/account/sign-in/"
RIGHT = "right-horse-1"


@pytest.fixture(autouse=True)
def ada() -> User:
    return User.objects.create_superuser("ada", password=RIGHT)


def sign_in(password: str, *, name: str = "ada", ip: str = "203.0.113.7") -> Any:
    return Client().post(LOGIN, {"login": name, "password": password}, REMOTE_ADDR=ip)


def test_the_right_password_lets_in() -> None:
    for _ in range(12):
        assert sign_in(RIGHT).status_code == 302
    assert not Tally.objects.exists()


def test_after_ten_wrong_ones_from_one_network_none_is_tried_any_more() -> None:
    for number in range(10):
        assert "Too many" not in sign_in("wrong", name=f"user{number}").content.decode()
    answer = sign_in(RIGHT)
    assert answer.status_code == 200
    assert "Too many wrong passwords" in answer.content.decode()
    assert sign_in(RIGHT, ip="198.51.100.2").status_code == 302


def test_after_twenty_wrong_ones_for_one_name_none_is_tried_until_the_password_is_another(ada: User) -> None:
    for number in range(20):
        sign_in("wrong", ip=f"198.51.100.{number}")
    assert "Too many wrong passwords" in sign_in(RIGHT, ip="192.0.2.1").content.decode()
    ada.set_password("another-horse-2")
    ada.save()
    assert sign_in("another-horse-2", ip="192.0.2.1").status_code == 302


def known_browser(user: User) -> Client:
    client = Client()
    client.post(LOGIN, {"login": user.username, "password": RIGHT})
    cookie = client.cookies[f"known-browser-{user.pk}"]
    client.logout()
    client.cookies = SimpleCookie({cookie.key: cookie.value})
    return client


@pytest.mark.slow
def test_strangers_lock_nobody_out_of_a_browser_that_signed_in_before(ada: User) -> None:
    known = known_browser(ada)
    cookie = known.cookies[f"known-browser-{ada.pk}"].value
    for number in range(300):
        sign_in("wrong", ip=f"198.51.{number // 250}.{number % 250}")
    eve = User.objects.create_superuser("eve", password=RIGHT)
    stranger = Client()
    stranger.cookies = SimpleCookie({f"known-browser-{ada.pk}": cookie[:-1]})
    for client, name in ((stranger, "ada"), (Client(), "ada"), (known, "eve")):
        client.post(LOGIN, {"login": name, "password": RIGHT}, REMOTE_ADDR="192.0.2.1")
        assert client.session.get("_auth_user_id") == (str(eve.pk) if name == "eve" else None)
    known.logout()
    known.cookies = SimpleCookie({f"known-browser-{ada.pk}": cookie})
    assert known.post(LOGIN, {"login": "ada", "password": RIGHT}).status_code == 302


def test_a_known_browser_is_not_asked_for_ever(ada: User) -> None:
    client = known_browser(ada)
    for number in range(20):
        client.post(LOGIN, {"login": "ada", "password": "wrong"}, REMOTE_ADDR=f"192.0.2.{number}")
    answer = client.post(LOGIN, {"login": "ada", "password": RIGHT})
    assert "Too many wrong passwords" in answer.content.decode()


def test_each_wrong_one_is_logged_with_its_address_and_without_the_password(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        sign_in("s3cret-guess", name="ada\nSign-in failed from 192.0.2.99: x")
    (line,) = [record.getMessage() for record in caplog.records if "ign-in failed" in record.getMessage()]
    assert line.startswith("Sign-in failed from 203.0.113.7: ")
    assert "\n" not in line
    assert "s3cret" not in caplog.text


def test_what_is_refused_unlooked_at_is_logged_too(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(11):
        sign_in("wrong")
    assert caplog.messages[-1] == "Sign-in failed from 203.0.113.7: too many wrong passwords"
    keys = Tally.objects.values_list("key", flat=True)
    # A digest may contain the letters of a short name by chance.
    assert "ada" not in {word for key in keys for word in re.split(r"\W", str(key))}


def test_the_admin_has_no_sign_in_of_its_own() -> None:
    """It would know no second factor."""
    answer = Client().post("/admin/login/?next=/admin/auth/", {"username": "ada", "password": RIGHT})
    assert answer["Location"] == f"{LOGIN}?next=/admin/auth/"
    assert Client().get("/admin/").status_code == 302
    client = Client()
    client.force_login(User.objects.get())
    User.objects.create_superuser("eve", password=RIGHT)
    client.post("/admin/login/", {"username": "eve", "password": RIGHT})
    assert client.session["_auth_user_id"] == str(User.objects.get(username="ada").pk)


def test_a_user_without_rights_is_told_so() -> None:
    client = Client()
    client.force_login(User.objects.create_user("plain"))
    assert client.get("/admin/", follow=True).status_code == 403


@pytest.mark.parametrize(
    ("page", "form", "made"),
    [
        ("feedletter_site/apitoken/add", {"name": "x", "scopes": "feeds:read"}, "token"),
        ("auth/user/add", {"username": "eve", "usable_password": "false", "is_staff": "on"}, "eve"),
        (
            "auth/user/{pk}/password",
            {"usable_password": "true", "password1": "new-horse-7", "password2": "new-horse-7"},
            "password",
        ),
        (
            "auth/user/{pk}/change",
            {
                "username": "ada",
                "email": "eve@x.example",
                "date_joined_0": "2026-01-01",
                "date_joined_1": "0:00",
            },
            "address",
        ),
    ],
)
def test_the_admin_asks_for_the_password_before_a_new_way_in_and_keeps_the_form(
    ada: User, page: str, form: dict[str, str], made: str
) -> None:
    def ways_in() -> set[str]:
        ada.refresh_from_db()
        ways = {"token": ApiToken.objects.exists(), "eve": User.objects.filter(username="eve").exists()}
        ways |= {"password": ada.check_password("new-horse-7"), "address": bool(ada.email)}
        return {way for way, is_there in ways.items() if is_there}

    client = Client()
    client.force_login(ada)
    address = f"/admin/{page.format(pk=ada.pk)}/?_changelist_filters=q%3Dx"
    assert client.get(address).status_code == 200
    asked = client.post(address, form)
    assert (asked["Location"][:23], ways_in()) == ("/account/confirm/?next=", set())
    client.post(asked["Location"], {"password": RIGHT})
    assert ways_in() == {made}


def test_the_page_of_a_user_says_what_changing_users_allows(ada: User) -> None:
    client = Client()
    client.force_login(ada)
    assert "become superuser" in client.get(f"/admin/auth/user/{ada.pk}/change/").content.decode()
