"""Mail setup by keyboard against a real SMTP server: wrong password, right one, default."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from channels.email.smtp_login import SmtpSettings
from delivery.accounts.accounts import target_of
from delivery.engine.send_pass import send_due
from delivery.lanes.lanes import mail_lane
from delivery.models import Account
from tests.delivery.ledger import queued
from tests.e2e.browser.screens import PICTURES, assert_accessible, assert_fits, sign_in
from tests.servers.smtp_server import SmtpServer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS"),
]
PASSWORD = "s3cret p@ss/word"
MOST_TABS = 200


@pytest.fixture(autouse=True)
def _nothing_given(settings: Any) -> None:
    settings.EMAIL_URL, settings.GIVEN = "mailbox:", frozenset()


def go_to(page: Any, selector: str) -> None:
    """Press Tab until the element has the focus."""
    for _ in range(MOST_TABS):
        if page.evaluate("chosen => document.activeElement.matches(chosen)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} is not reached by Tab")


def enter(page: Any, selector: str, text: str) -> None:
    go_to(page, selector)
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type(text)


def test_mail_is_set_up_by_keyboard(page: Any, site: str) -> None:
    if page.is_plain:
        pytest.skip("The admin's menus need scripts.")
    sign_in(page, site)
    with SmtpServer(login=("letters@one.example", PASSWORD)) as server:
        page.goto(f"{site}/admin/mail/")
        look(page, "mail-set-up-empty")
        go_to(page, "a[href$='provider=other']")
        page.keyboard.press("Enter")
        page.wait_for_url("**/account/add/?provider=other")
        look(page, "mail-account-add")
        enter(page, "[name=user]", "letters@one.example")
        enter(page, "[name=password]", "wr0ng")
        enter(page, "[name=host]", "127.0.0.1")
        enter(page, "[name=port]", str(server.port))
        go_to(page, "[name=security]")
        page.keyboard.type("None")
        go_to(page, "[name=_save]")
        page.keyboard.press("Enter")
        page.wait_for_url("**/admin/mail/?account=*")
        # Back keeps the input, except the password.
        page.go_back()
        page.wait_for_url("**/account/add/?provider=other")
        assert page.input_value("[name=host]") == "127.0.0.1"
        assert page.input_value("[name=password]") == ""
        page.go_forward()
        page.wait_for_url("**/admin/mail/?account=*")
        # The next step has the focus.
        go_to(page, "[value=try]")
        page.keyboard.press("Enter")
        page.get_by_text("work yet").wait_for()
        assert page.get_by_text("127.0.0.1 refused the user and password. Enter both again.").count()
        look(page, "mail-set-up-wrong")
        go_to(page, ".fl-account a.fl-button")
        page.keyboard.press("Enter")
        page.wait_for_url("**/change/")
        look(page, "mail-account-change")
        enter(page, "[name=password]", PASSWORD)
        go_to(page, "[name=_save]")
        page.keyboard.press("Enter")
        page.wait_for_url("**/admin/mail/?account=*")
        go_to(page, "[value=try]")
        page.keyboard.press("Enter")
        page.get_by_text("Its server accepted a test email to ada@example.org").wait_for()
        (message,) = server.wait_for(1)
        assert message.recipient == "ada@example.org"
        go_to(page, "[value=default]")
        page.keyboard.press("Enter")
        page.get_by_text("Emails are sent through mail").wait_for()
        look(page, "mail-set-up-done")
        target = target_of(Account.objects.get(is_default=True))
        assert isinstance(target, SmtpSettings)
        assert target.password == PASSWORD
        assert PASSWORD not in page.content()
        queued(1, lane=mail_lane())
        assert send_due().sent == 1
        assert len(server.messages) == 2
        # Back and forward repeat nothing.
        page.go_back()
        page.go_forward()
        assert len(server.messages) == 2


def look(page: Any, name: str) -> None:
    """Check the page without Unfold's menu, which other tests check."""
    page.wait_for_load_state()
    if PICTURES:
        scheme = "dark" if page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") else "light"
        screen = f"{page.viewport_size['width']}-{scheme}"
        page.screenshot(path=Path(PICTURES) / f"{name}-{screen}.png", full_page=True)
    assert_fits(page)
    assert_accessible(page)


def test_an_admin_who_forgot_the_password_chooses_another(page: Any, site: str, settings: Any) -> None:
    if page.is_plain:
        pytest.skip("The admin's menus need scripts.")
    User.objects.create_superuser("ada", "ada@example.org", "right-horse-1")
    with SmtpServer() as server:
        settings.EMAIL_URL = server.url
        page.goto(f"{site}/admin/login/")
        page.get_by_role("link", name="Forgot your password?").click()
        look(page, "password-ask")
        page.fill("[name=email]", "ada@example.org")
        page.keyboard.press("Enter")
        page.wait_for_url("**/password-reset/sent/")
        look(page, "password-sent")
        assert send_due().sent == 1
        text = server.messages[0].data.decode().replace("=\r\n", "")
    (path,) = set(re.findall(r"/account/password-reset/[\w-]+/[\w-]+/", text))
    page.goto(site + path)
    look(page, "password-choose")
    page.fill("[name=password1]", "another-horse-2")
    page.keyboard.press("Enter")
    page.get_by_text("Password changed.").wait_for()
    page.get_by_label("Email or username").fill("ada")
    page.fill("[name=password]", "another-horse-2")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site}/admin/")
    look(page, "overview-without-mail")
    page.goto(f"{site}/admin/delivery/account/add/?provider=gmail")
    look(page, "mail-account-gmail")
    page.goto(f"{site}/admin/delivery/account/add/?provider=mailgun")
    look(page, "mail-account-mailgun")
