"""The list of a reader's authorized apps, and the reader's profile page.

The page of app passwords: each is created, shown once, and revoked.
"""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import quote_plus

import pytest
from django.test import Client

from common.clock import utcnow
from reader.channels.channels import alter_channel
from reader.channels.follows import follow_feed
from reader.models import AppPassword, Channel, Code, Follow, Reader, Token
from reader.people.tokens import IDLE, make_app_password, make_token, sign_in
from tests.factories import NOW, FeedFactory
from tests.reader.client import MicrosubClient
from tests.reader.indieauth.client_app import ClientApp

PAGE = "/reader/app-passwords/"
pytestmark = pytest.mark.django_db


def names(browser: Client) -> list[str]:
    return re.findall(r'<h2 class="minor"><bdi>(.*?)</bdi>', browser.get("/reader/clients/").content.decode())


class TestApps:
    def test_keys_and_what_was_allowed_stand_in_one_list(
        self, web: Callable[[Reader], Client], ada: Reader
    ) -> None:
        make_token(reader=ada, client="phone", scopes=["read"], now=utcnow())
        app = ClientApp(ada, "http://127.0.0.1:3000/")
        given = app.signed_in("read follow")
        app.microsub(given["access_token"]).ask("channels")
        page = web(ada).get("/reader/clients/").content.decode()
        assert names(web(ada)) == ["127.0.0.1:3000", "phone"]
        assert "Read your channels and posts, and mark posts as read · Follow and unfollow feeds" in page
        assert "last used on" in page
        assert "not used yet" in page
        assert "http://127.0.0.1:8000/@ada/" in page

    def test_a_button_ends_one(self, web: Callable[[Reader], Client], ada: Reader) -> None:
        app = ClientApp(ada, "http://127.0.0.1:3000/")
        given = app.signed_in()
        api = app.microsub(given["access_token"])
        browser = web(ada)
        answer = browser.post(f"/reader/clients/{Token.objects.get().pk}/revoke/")
        assert "Access revoked." in browser.get(answer.headers["Location"]).content.decode()
        assert api.get("channels")[0] == 401
        assert names(browser) == []

    def test_what_has_ended_is_not_listed(self, web: Callable[[Reader], Client], ada: Reader) -> None:
        ClientApp(ada, "http://127.0.0.1:3000/").signed_in()
        make_token(reader=ada, client="phone", now=utcnow())
        Token.objects.update(made_at=utcnow() - IDLE - timedelta(days=1))
        assert names(web(ada)) == ["phone"]

    def test_an_empty_list_says_what_to_do(self, web: Callable[[Reader], Client], ada: Reader) -> None:
        assert "No apps have access yet." in web(ada).get("/reader/clients/").content.decode()


def test_with_every_key_of_another_reader_nothing_is_seen_and_nothing_changed(
    web: Callable[[Reader], Client], ada: Reader, bob: Reader
) -> None:
    app = ClientApp(ada, "http://127.0.0.1:3000/")
    given, code = app.signed_in(), app.answered()["code"]
    token = Token.objects.get()
    browser, before = web(bob), list(Token.objects.values())
    assert browser.post(f"/reader/clients/{token.pk}/revoke/").status_code == 404
    assert browser.post(f"/reader/clients/{10**30}/revoke/").status_code == 404
    assert names(browser) == []
    bobs = ClientApp(bob, "http://127.0.0.1:3001/")
    # Bob's client has stolen Ada's code.
    for instead in ({}, {"client_id": app.client_id, "redirect_uri": app.redirect_uri}):
        assert bobs.exchange(code, **instead)[0] == 400
    mine = bobs.signed_in()["access_token"]
    assert bobs.post("introspection_endpoint", token=given["access_token"], key=mine)[1] == {"active": False}
    Token.objects.filter(reader=bob).delete()
    assert list(Token.objects.values()) == before
    assert Code.objects.get(reader=ada, used_at=None)
    assert MicrosubClient(bob, key=given["access_token"]).get("channels")[0] == 403


class TestProfile:
    def test_it_is_an_h_card_with_what_clients_look_for(self, ada: Reader) -> None:
        page = Client().get("/@ada/")
        html = page.content.decode()
        for rel, path in (
            ("indieauth-metadata", "/indieauth/metadata"),
            ("authorization_endpoint", "/indieauth/authorize"),
            ("token_endpoint", "/indieauth/token"),
            ("microsub", "/microsub/ada"),
        ):
            assert f'<link rel="{rel}" href="http://127.0.0.1:8000{path}">' in html
            assert f'<http://127.0.0.1:8000{path}>; rel="{rel}"' in page.headers["Link"]
        assert 'class="h-card"' in html
        assert 'class="u-url u-uid" href="http://127.0.0.1:8000/@ada/"' in html
        assert Client().get("/@ada").headers["Location"] == "/@ada/"

    @pytest.mark.parametrize("is_known", [True, False])
    def test_of_whom_there_is_none_nothing_is_shown(self, ada: Reader, is_known: bool) -> None:
        ada.user.is_active = False
        ada.user.save()
        name = "ada" if is_known else "nobody"
        assert Client().get(f"/@{name}/").status_code == 404
        assert Client().get(f"/@{name}/blogroll.opml").status_code == 404

    def test_what_they_read_is_shown_only_where_they_want_that(
        self, web: Callable[[Reader], Client], ada: Reader, channel: Callable[[str], Channel]
    ) -> None:
        shown, hidden = channel("shown"), channel("hidden")
        for place, title in ((shown, "Tide tables"), (hidden, "A secret love")):
            follow_feed(channel=place, feed=FeedFactory(title=title, site_url="https://tide.example/"))
        paid = FeedFactory(title="Paid for", credentials={"username": "ada", "password": "secret"})
        Follow.objects.create(channel=shown, feed=paid)
        assert "Tide tables" not in Client().get("/@ada/").content.decode()
        assert Client().get("/@ada/blogroll.opml").status_code == 404
        form = {"name": "shown", "unread": "count", "keep": "", "published": "on"}
        assert web(ada).post("/reader/c/shown/settings/", form).status_code == 302
        page = Client().get("/@ada/")
        html, opml = page.content.decode(), Client().get("/@ada/blogroll.opml").content.decode()
        assert '<http://127.0.0.1:8000/@ada/blogroll.opml>; rel="blogroll"' in page.headers["Link"]
        for text in (html, opml):
            assert "Tide tables" in text
            assert "secret" not in text
            assert "Paid for" not in text
        assert 'name="published" checked' in web(ada).get("/reader/c/shown/settings/").content.decode()
        assert web(ada).post("/reader/c/shown/settings/", {**form, "published": ""}).status_code == 302
        assert "Tide tables" not in Client().get("/@ada/").content.decode()

    def test_the_notifications_are_never_shown(self, web: Callable[[Reader], Client], ada: Reader) -> None:
        form = {"unread": "count", "keep": "", "published": "on"}
        web(ada).post("/reader/c/notifications/settings/", form)
        assert not Channel.objects.filter(is_published=True).exists()

    def test_markup_in_names_is_text(self, ada: Reader, home: Channel) -> None:
        ada.user.first_name = "<script>x"
        ada.user.save()
        follow_feed(channel=home, feed=FeedFactory(title="<script>y", site_url="javascript:alert(1)"))
        alter_channel(channel=home, is_published=True, name="<script>z")
        html: Any = Client().get("/@ada/").content.decode()
        assert "<script>" not in html
        assert "javascript:" not in html


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
