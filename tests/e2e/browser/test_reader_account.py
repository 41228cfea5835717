"""A reader accepts an invitation, changes the account, exports it, and deletes it."""

import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from common.clock import utcnow
from reader.models import Reader
from reader.people.invitations import invite
from subscriptions.subscribers.antispam import NUMBER_NAMES
from tests.e2e.browser.screens import look_at

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
