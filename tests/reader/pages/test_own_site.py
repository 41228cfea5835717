"""Connecting one's own site, and signing in with it."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client

from common.clock import utcnow
from reader.models import Reader
from reader.people.tokens import connect_site
from tests.servers.own_site import OwnSite

pytestmark = pytest.mark.django_db
SITE, SIGN_IN = "/reader/site/", "/reader/sign-in/site/"


def comes_back(browser: Client, site: OwnSite, begun: Any, **instead: str) -> Any:
    """Return the page after consent at the site that the browser was sent to."""
    assert begun.status_code == 302, begun.content
    url = begun.headers["Location"]
    back = urlsplit(dict(parse_qsl(urlsplit(url).query))["redirect_uri"]).path
    return browser.get(f"{back}?{urlencode(site.says_yes(url, **instead))}")


def connected(browser: Client, site: OwnSite, **instead: str) -> Any:
    return comes_back(browser, site, browser.post(SITE, {"me": site.me}), **instead)


def signed_in(browser: Client, site: OwnSite, *, to: str = "", **instead: str) -> Any:
    return comes_back(browser, site, browser.post(SIGN_IN, {"me": site.me, "next": to}), **instead)


def problem(answer: Any) -> str:
    found = re.findall(r'<p class="error"[^>]*>(.*?)</p>', answer.content.decode())
    return found[0] if found else ""


class TestConnecting:
    def test_a_site_that_says_yes_is_connected(
        self, web: Callable[[Reader], Client], ada: Reader, own_site: OwnSite
    ) -> None:
        browser = web(ada)
        assert connected(browser, own_site).headers["Location"] == SITE
        ada.refresh_from_db()
        assert ada.me == own_site.me
        assert ada.verified_at is not None
        assert ada.endpoints["token"] == own_site.url("token")
        page = browser.get(SITE).content.decode()
        assert own_site.me in page
        assert "/microsub/ada" in page

    def test_it_is_forgotten_with_all_that_it_gave(
        self, web: Callable[[Reader], Client], ada: Reader, own_site: OwnSite
    ) -> None:
        connected(web(ada), own_site)
        Reader.objects.update(micropub={"token": "secret"})
        web(ada).post(SITE, {"act": "disconnect"})
        ada.refresh_from_db()
        assert (ada.me, ada.verified_at, ada.endpoints, ada.micropub.open()) == ("", None, {}, {})

    def test_the_token_for_posting_stays_with_the_site_that_gave_it(
        self, web: Callable[[Reader], Client], ada: Reader, own_site: OwnSite
    ) -> None:
        connected(web(ada), own_site)
        Reader.objects.update(micropub={"token": "secret"})
        connected(web(ada), own_site)
        assert Reader.objects.get(pk=ada.pk).micropub.open() == {"token": "secret"}
        connected(web(ada), OwnSite(own_site.server, "/new/"))
        assert Reader.objects.get(pk=ada.pk).micropub.open() == {}

    def test_one_site_is_one_readers(
        self, web: Callable[[Reader], Client], ada: Reader, bob: Reader, own_site: OwnSite
    ) -> None:
        connected(web(ada), own_site)
        answer = connected(web(bob), own_site)
        assert problem(answer) == "Someone else here has already connected this site."
        assert Reader.objects.get(pk=bob.pk).me == ""

    @pytest.mark.parametrize(
        ("typed", "told"),
        [
            ("", "Use an address like https://example.org/"),
            ("nonsense words", "Use an address like https://example.org/"),
            ("http://127.0.0.1:8000/@ada/", "the address of this site"),
        ],
    )
    def test_what_is_no_site_is_told(
        self, web: Callable[[Reader], Client], ada: Reader, typed: str, told: str
    ) -> None:
        answer = web(ada).post(SITE, {"me": typed})
        assert answer.status_code == 400
        assert told in answer.content.decode()

    @pytest.mark.parametrize("instead", [{"state": "x"}, {"iss": "https://evil.example/"}, {"code": "x"}])
    def test_an_answer_that_is_not_right_connects_nothing(
        self, web: Callable[[Reader], Client], ada: Reader, own_site: OwnSite, instead: dict[str, str]
    ) -> None:
        browser = web(ada)
        assert connected(browser, own_site, **instead).status_code == 400
        # The first response ends the attempt.
        assert browser.get("/reader/site/back/?code=code-1&state=").status_code == 400
        assert Reader.objects.get(pk=ada.pk).me == ""

    def test_an_answer_that_somebody_else_began_connects_nothing(
        self, web: Callable[[Reader], Client], ada: Reader, bob: Reader, own_site: OwnSite
    ) -> None:
        url = web(bob).post(SITE, {"me": own_site.me}).headers["Location"]
        answer = web(ada).get(f"/reader/site/back/?{urlencode(own_site.says_yes(url))}")
        assert answer.status_code == 400
        assert not Reader.objects.exclude(me="").exists()

    def test_it_is_looked_for_so_often_a_minute(
        self, web: Callable[[Reader], Client], ada: Reader, own_site: OwnSite
    ) -> None:
        browser = web(ada)
        answers = [browser.post(SITE, {"me": own_site.me}).status_code for _ in range(11)]
        assert answers == [302] * 10 + [429]


class TestSigningIn:
    @pytest.fixture
    def hers(self, ada: Reader, own_site: OwnSite) -> OwnSite:
        connect_site(reader=ada, me=own_site.me, endpoints={}, now=utcnow())
        return own_site

    def test_a_site_opens_the_door(self, hers: OwnSite, ada: Reader) -> None:
        browser = Client()
        assert signed_in(browser, hers, to="/reader/starred/").headers["Location"] == "/reader/starred/"
        assert browser.get("/reader/").context["reader"] == ada
        # The site's present endpoints replace the former ones.
        ada.refresh_from_db()
        assert ada.endpoints["token"] == hers.url("token")

    @pytest.mark.parametrize("to", ["", "https://evil.example/", "//evil.example/", "javascript:alert(1)"])
    def test_nobody_is_led_away(self, hers: OwnSite, to: str) -> None:
        assert signed_in(Client(), hers, to=to).headers["Location"] == "/reader/"

    def test_a_site_that_nobody_has_connected_opens_nothing(self, ada: Reader, own_site: OwnSite) -> None:
        browser = Client()
        answer = signed_in(browser, own_site)
        assert answer.status_code == 403
        assert "Nobody here has connected this site" in problem(answer)
        assert browser.get("/reader/").status_code == 302

    def test_another_site_does_not_open_hers(self, hers: OwnSite) -> None:
        evil = OwnSite(hers.server, "/evil/")
        evil.said = {"me": hers.me}
        browser = Client()
        assert signed_in(browser, evil).status_code == 400
        assert browser.get("/reader/").status_code == 302

    @pytest.mark.parametrize(
        "instead",
        [
            {"state": "x"},
            {"iss": "https://evil.example/"},
            {"iss": ""},
            {"code": "x"},
            {"error": "access_denied"},
        ],
    )
    def test_an_answer_that_is_not_right_opens_nothing(self, hers: OwnSite, instead: dict[str, str]) -> None:
        browser = Client()
        assert signed_in(browser, hers, **instead).status_code == 400
        assert browser.get("/reader/").status_code == 302

    def test_a_wrong_state_is_told_in_english_and_escaped(self, hers: OwnSite) -> None:
        answer = signed_in(Client(), hers, error="x", error_description="<b>no</b>")
        assert "&lt;b&gt;no&lt;/b&gt;" in answer.content.decode()

    def test_an_answer_for_another_browser_opens_nothing(self, hers: OwnSite) -> None:
        url = Client().post(SIGN_IN, {"me": hers.me}).headers["Location"]
        browser = Client()
        answer = browser.get(f"/reader/sign-in/site/back/?{urlencode(hers.says_yes(url))}")
        assert answer.status_code == 400
        assert browser.get("/reader/").status_code == 302

    def test_an_admin_signs_in_with_their_password(self, hers: OwnSite, ada: Reader) -> None:
        ada.user.is_staff = True
        ada.user.save()
        browser = Client()
        answer = signed_in(browser, hers)
        assert "sign in with your password" in problem(answer)
        assert browser.get("/reader/").status_code == 302

    def test_a_second_factor_is_asked_for_here_too(self, hers: OwnSite, ada: Reader) -> None:
        Authenticator.objects.create(user=ada.user, type=Authenticator.Type.TOTP, data={"secret": "x"})
        browser = Client()
        assert signed_in(browser, hers)["Location"] == "/account/second-factor/authenticate/"
        assert browser.get("/reader/").status_code == 302

    def test_who_may_not_read_does_not_come_in(self, hers: OwnSite, ada: Reader) -> None:
        ada.user.is_active = False
        ada.user.save()
        browser = Client()
        assert signed_in(browser, hers).status_code == 403
        assert browser.get("/reader/").status_code == 302

    def test_strangers_make_us_ask_so_often_a_minute(self, hers: OwnSite) -> None:
        answers = [Client().post(SIGN_IN, {"me": hers.me}).status_code for _ in range(7)]
        assert answers == [302] * 6 + [429]

    def test_what_is_not_public_is_not_called_and_not_described(self, hers: OwnSite, settings: Any) -> None:
        settings.ALLOW_PRIVATE_NETWORKS = []
        answer = Client().post(SIGN_IN, {"me": "http://localhost/"})
        page = answer.content.decode()
        assert "localhost isn’t on the public web" in page
        assert "127.0.0.1" not in page.replace("http://127.0.0.1:8000", "")

    def test_the_page_offers_it_once_somebody_has_one_and_its_form_may_lead_away(self, ada: Reader) -> None:
        assert SIGN_IN not in Client().get("/account/sign-in/").content.decode()
        Reader.objects.filter(pk=ada.pk).update(me="https://ada.example/")
        page = Client().get("/account/sign-in/?next=/reader/starred/")
        assert f'action="{SIGN_IN}"' in page.content.decode()
        assert page.content.decode().count('name="next" value="/reader/starred/"') == 3
        assert "form-action 'self' https:" in page["Content-Security-Policy"]
