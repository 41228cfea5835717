"""A reader accepts an invitation, changes the account, exports it, and deletes it.

Connect one's own site, sign in with it, authorize an app, and revoke it, in a browser.
"""

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import expect

from common.clock import utcnow
from reader.channels.follows import follow_feed
from reader.models import Reader
from reader.people.invitations import invite
from reader.people.readers import add_reader
from reader.people.tokens import make_token
from reader.rules.identity import challenge_of
from subscriptions.subscribers.antispam import NUMBER_NAMES
from tests.e2e.browser.screens import look_at
from tests.e2e.browser.test_reader_pages import confirm
from tests.factories import FeedFactory
from tests.feeds.conftest import server
from tests.servers.feed_server import FeedServer
from tests.servers.own_site import HTML, JSON, OwnSite

__all__ = ["server"]
NEEDS_APP = "reader"
pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]
NUMBERS = {words: number for number, words in NUMBER_NAMES.items()}
PASSWORD = "the sea is wide"


def test_from_the_invitation_to_the_end(page: Any, site: str, settings: Any, tmp_path: Path) -> None:
    settings.EMAIL_URL = "smtp://127.0.0.1:1"
    settings.OIDC_URL, settings.OIDC_NAME = "https://id.example.org", "Lighthouse"
    _, link = invite(name="Grace Hopper", now=utcnow())
    path = link.removeprefix(settings.SITE_URL)
    page.goto(site + path)
    look_at(page, "reader-invitation")
    expect(page.get_by_label("Your name here")).to_have_value("grace-hopper")
    page.get_by_label("Password", exact=True).fill("12345")
    page.get_by_role("button", name="Create account").click()
    page.get_by_text("too short").first.wait_for()
    look_at(page, "reader-invitation-mistake")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Create account").click()
    page.wait_for_url("**/reader/")
    look_at(page, "reader-first-steps")
    page.goto(site + path)
    look_at(page, "reader-reads-already")

    page.goto(f"{site}/reader/account/")
    look_at(page, "reader-account")
    page.get_by_label("Your email address").fill("grace@example.org")
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_label("Your password").press("Enter")
    page.get_by_text("Email address saved: grace@example.org").wait_for()
    look_at(page, "reader-account-saved")
    with page.expect_download() as taken:
        page.get_by_role("link", name="Download your data").click()
    taken.value.save_as(tmp_path / "mine.zip")
    assert zipfile.ZipFile(tmp_path / "mine.zip").namelist() == ["my-data.json", "feeds.opml"]
    page.get_by_role("link", name="Change password").click()
    page.wait_for_url("**/password/")
    look_at(page, "reader-account-password")

    page.goto(f"{site}/reader/account/erase/")
    look_at(page, "reader-account-erase")
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_label("Yes, delete everything permanently").check()
    page.get_by_role("button", name="Delete my account").click()
    page.get_by_text("Your account is deleted").wait_for()
    look_at(page, "reader-erased")
    assert Reader.objects.get().leaving_at is not None
    page.goto(site + path)
    look_at(page, "reader-invitation-over")


def test_whoever_comes_by_themselves_and_whoever_forgot(page: Any, site: str, settings: Any) -> None:
    settings.READER, settings.EMAIL_URL = "open", "smtp://127.0.0.1:1"
    page.goto(f"{site}/account/sign-in/")
    look_at(page, "reader-sign-in-open")
    page.get_by_role("link", name="New here? Create an account").click()
    page.wait_for_url("**/join/")
    look_at(page, "reader-join")
    page.get_by_label("Your name here").fill("grace")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    question = page.get_by_label("How much is")
    if question.count():
        # Without scripts the question is shown at once, so that nobody types the password twice.
        words = question.locator("xpath=preceding-sibling::label").inner_text()
        first, second = (NUMBERS[word] for word in re.findall(r"\w+", words) if word in NUMBERS)
        question.fill(str(first + second))
    page.get_by_role("button", name="Create account").click()
    page.wait_for_url("**/reader/")
    page.context.clear_cookies()
    page.goto(f"{site}/account/password-reset/")
    look_at(page, "reader-password-reset")
    page.get_by_label("Your email address").fill("grace@example.org")
    page.get_by_role("button", name="Email me a link").click()
    page.wait_for_url("**/sent/")
    look_at(page, "reader-password-reset-told")
    page.goto(f"{site}/account/password-reset/1/y/")
    look_at(page, "reader-password-reset-wrong")


@pytest.fixture
def ada() -> Reader:
    reader = add_reader(name="ada", now=utcnow())
    reader.user.set_password(PASSWORD)
    reader.user.save()
    for title in ("Tide tables", "Lighthouse notes"):
        follow_feed(channel=reader.channels.get(uid="home"), feed=FeedFactory(title=title))
    reader.channels.update(is_published=True)
    make_token(reader=reader, client="phone", scopes=["read"], now=utcnow())
    return reader


def sign_in(page: Any) -> None:
    page.get_by_label("Email or username").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


def test_a_site_of_ones_own_is_connected_and_opens_the_door(
    page: Any, site: str, ada: Reader, server: FeedServer
) -> None:
    hers = OwnSite(server)
    page.goto(f"{site}/reader/site/")
    sign_in(page)
    page.wait_for_url("**/reader/site/")
    look_at(page, "own-site")
    page.get_by_label("Your website’s address").fill("nonsense words")
    page.get_by_role("button", name="Connect").click()
    confirm(page)
    page.get_by_text("This site couldn’t be connected.").wait_for()
    look_at(page, "own-site-refused")
    page.get_by_label("Your website’s address").fill(hers.me)
    page.get_by_role("button", name="Connect").click()
    page.get_by_text("that it’s yours").wait_for()
    look_at(page, "own-site-connected")
    page.context.clear_cookies()
    page.goto(f"{site}/reader/starred/")
    page.get_by_label("Your website’s address").fill(hers.me)
    page.get_by_role("button", name="Continue with your website").click()
    page.wait_for_url("**/reader/starred/")
    page.context.clear_cookies()
    page.goto(f"{site}/account/sign-in/")
    page.get_by_label("Your website’s address").fill(OwnSite(server, "/bob/").me)
    page.get_by_role("button", name="Continue with your website").click()
    page.get_by_text("Nobody here has connected this site").wait_for()
    look_at(page, "own-site-unknown")


def test_an_app_is_let_in_and_out_again(page: Any, site: str, ada: Reader, server: FeedServer) -> None:
    app = f"http://localhost:{server.port}/app/"
    about = {
        "client_id": app,
        "client_name": "Reading lamp for people with long evenings",
        "redirect_uris": [server.url("/back")],
    }
    server.serve("/app/", json.dumps(about), headers=JSON)
    server.serve("/back", "<title>Reading lamp</title><h1>Thank you</h1>", headers=HTML)
    asked = (
        f"?response_type=code&client_id={app}&redirect_uri={server.url('/back')}&state=s&scope=read+follow+create"
        f"&code_challenge={challenge_of('v' * 43)}&code_challenge_method=S256"
    )
    page.goto(f"{site}/indieauth/authorize{asked}")
    sign_in(page)
    page.get_by_role("button", name="Allow access").wait_for()
    look_at(page, "consent")
    page.get_by_label("Follow and unfollow feeds").uncheck()
    page.get_by_role("button", name="Allow access").click()
    page.get_by_text("Thank you").wait_for()
    (code,) = re.findall(r"code=([\w-]+)", page.url)
    given = Client().post(
        "/indieauth/token",
        {
            "grant_type": "authorization_code",
            "code": code,
            "client_id": app,
            "redirect_uri": server.url("/back"),
            "code_verifier": "v" * 43,
        },
    )
    assert given.json()["scope"] == "read"
    page.goto(f"{site}/reader/clients/")
    look_at(page, "apps")
    page.get_by_role("button", name="Revoke Reading lamp").click()
    page.get_by_text("Access revoked.").wait_for()
    expect(page.get_by_role("heading", level=2, name="Reading lamp")).to_have_count(0)
    page.goto(f"{site}/indieauth/authorize{asked.replace('/back', '/evil')}")
    page.get_by_role("heading", name="This app can’t be authorized").wait_for()
    look_at(page, "consent-refused")


def test_the_page_of_a_reader(page: Any, site: str, ada: Reader) -> None:
    page.goto(f"{site}/@ada/")
    page.get_by_role("link", name="Tide tables").wait_for()
    look_at(page, "profile")
