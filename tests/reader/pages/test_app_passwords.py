"""The page of app passwords: each is created, shown once, and revoked."""

import re
from urllib.parse import quote_plus

import pytest
from django.test import Client

from reader.models import AppPassword, Reader
from reader.people.tokens import make_app_password, sign_in
from tests.factories import NOW

pytestmark = pytest.mark.django_db
PAGE = "/reader/app-passwords/"


def test_a_password_is_shown_once_and_opens(browser: Client) -> None:
    assert "No app passwords yet" in browser.get(PAGE).content.decode()
    made = browser.post(PAGE, {"app": "My <phone>"})
    shown = re.search(r'class="secret">([^<]+)<', made.content.decode())
    assert shown is not None
    assert "no-store" in made.headers["Cache-Control"]
    assert "My &lt;phone&gt;" in made.content.decode()
    row = sign_in(name="ada", password=shown[1], ip="192.0.2.1")
    assert row == AppPassword.objects.get()
    page = browser.get(PAGE).content.decode()
    assert shown[1] not in page
    assert "never used" in page


def test_the_page_says_what_to_type(browser: Client) -> None:
    page = browser.get(PAGE).content.decode()
    assert "http://127.0.0.1:8000/api/greader.php" in page
    assert '<code dir="ltr">ada</code>' in page
    assert f'href="{PAGE}"' in browser.get("/reader/account/").content.decode()
    assert f'href="{PAGE}"' in browser.get("/reader/clients/").content.decode()


@pytest.mark.parametrize("page", [PAGE, "/reader/clients/", "/reader/site/"])
def test_what_the_account_leads_to_leads_back_and_is_not_in_the_menu(browser: Client, page: str) -> None:
    there = '<a href="/reader/account/" aria-current="page">'
    assert there in browser.get(page).content.decode()
    assert f'href="{page}"' not in browser.get("/reader/").content.decode()


@pytest.mark.parametrize("app", ["", " ", "x" * 101])
def test_a_name_that_is_none_is_refused(browser: Client, app: str) -> None:
    answer = browser.post(PAGE, {"app": app})
    assert answer.status_code == 400
    assert "at most 100 characters" in answer.content.decode()
    assert not AppPassword.objects.exists()


@pytest.mark.parametrize(
    ("page", "given"),
    [
        (PAGE, {"app": "phone"}),
        ("/reader/site/", {"me": "https://evil.example/"}),
        ("/reader/site/", {"me": "https://evil.example/", "revoke": "1"}),
        ("/reader/compose/connect/", {"me": "https://evil.example/"}),
    ],
)
def test_an_old_session_gives_no_new_way_to_sign_in(
    browser: Client, ada: Reader, page: str, given: dict[str, str]
) -> None:
    session = browser.session
    session["signed_in_at"] = 0
    session.save()
    assert browser.post(page, given)["Location"] == f"/account/sign-out/?next={quote_plus(page)}"
    assert "sign in again" in browser.get(f"/account/sign-out/?next={page}").content.decode()
    ada.user.set_password("right-horse-1")
    ada.user.save()
    browser.force_login(ada.user)
    assert browser.post(page, given)["Location"] == f"/account/confirm/?next={quote_plus(page)}"
    assert not AppPassword.objects.exists()


def test_the_password_is_created_once_it_is_confirmed(browser: Client, ada: Reader) -> None:
    ada.user.set_password("right-horse-1")
    ada.user.save()
    browser.force_login(ada.user)
    asked = browser.post(PAGE, {"app": "phone"})
    made = browser.post(asked["Location"], {"password": "right-horse-1"})
    assert 'class="secret"' in made.content.decode()


def test_there_are_not_more_than_enough(browser: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reader.people.tokens.MAX_APP_PASSWORDS", 1)
    assert browser.post(PAGE, {"app": "one"}).status_code == 200
    assert browser.post(PAGE, {"app": "two"}).status_code == 400
    browser.post(PAGE, {"revoke": AppPassword.objects.get().pk})
    assert browser.post(PAGE, {"app": "two"}).status_code == 200


def test_one_is_revoked_and_no_other(browser: Client, ada: Reader, bob: Reader) -> None:
    (hers, typed), (other, _), (his, _) = (
        make_app_password(reader=reader, app=app, now=NOW)
        for reader, app in ((ada, "phone"), (ada, "desk"), (bob, "phone"))
    )
    assert browser.post(PAGE, {"revoke": hers.pk}).status_code == 302
    assert sign_in(name="ada", password=typed, ip="192.0.2.1") is None
    for key in (his.pk, hers.pk, "x", "9" * 30):
        assert browser.post(PAGE, {"revoke": key}).status_code == 404, key
    assert set(AppPassword.objects.filter(revoked_at=None)) == {other, his}
    assert "desk" in browser.get(PAGE).content.decode()
    assert "phone</bdi>" not in browser.get(PAGE).content.decode()
