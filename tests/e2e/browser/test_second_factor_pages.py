"""The sign-in with a second factor: an authenticator app, and a passkey of a virtual authenticator."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.e2e.browser.screens import look_at
from tests.site.totp import code_of

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PASSWORD = "the sea is wide"


@pytest.fixture(autouse=True)
def _ada() -> None:
    User.objects.create_superuser("ada", "ada@example.org", PASSWORD)


def sign_in(page: Any) -> None:
    page.get_by_label("Email or username").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


def begin(page: Any, site: str, link: str) -> None:
    page.goto(f"{site}/account/second-factor/")
    sign_in(page)
    page.get_by_role("link", name=link).click()
    look_at(page, "account-confirm")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()


def test_an_app_is_set_up_asked_for_and_removed(page: Any, site: str) -> None:
    page.goto(f"{site}/account/sign-in/")
    look_at(page, "account-sign-in")
    begin(page, site, "Set up app")
    secret = page.locator("code").inner_text()
    look_at(page, "second-factor-app")
    page.get_by_label("Code").fill("nonsense")
    page.get_by_role("button", name="Set up app").click()
    page.get_by_text("Incorrect code").wait_for()
    look_at(page, "second-factor-app-mistake")
    assert page.locator("code").inner_text() == secret
    page.get_by_label("Code").fill(code_of(secret, steps=0))
    page.get_by_role("button", name="Set up app").click()
    page.get_by_role("heading", name="Recovery codes").wait_for()
    look_at(page, "second-factor-codes")
    with page.expect_download():
        page.get_by_role("link", name="Download codes").click()
    page.get_by_role("link", name="New codes").click()
    look_at(page, "second-factor-codes-new")
    page.goto(f"{site}/account/second-factor/")
    look_at(page, "second-factor")
    page.context.clear_cookies()
    page.goto(f"{site}/admin/")
    sign_in(page)
    page.get_by_role("heading", name="Second factor").wait_for()
    look_at(page, "second-factor-asked")
    page.get_by_label("Code").fill(code_of(secret))
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url(f"{site}/admin/")
    page.goto(f"{site}/account/second-factor/totp/deactivate/")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Remove app").wait_for()
    look_at(page, "second-factor-app-remove")
    page.get_by_role("button", name="Remove app").click()
    page.get_by_text("The app is removed.").wait_for()


def test_a_passkey_signs_in_alone_or_after_the_password(page: Any, site: str) -> None:
    if page.is_plain:
        pytest.skip("Passkeys need scripts.")
    devtools = page.context.new_cdp_session(page)
    devtools.send("WebAuthn.enable")
    about = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
    }
    options = {**about, "isUserVerified": True, "automaticPresenceSimulation": True}
    devtools.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    begin(page, site, "Add a passkey")
    page.get_by_label("Name").fill("Ada’s phone")
    look_at(page, "passkey-add")
    page.get_by_role("button", name="Add a passkey").click()
    page.get_by_role("heading", name="Recovery codes").wait_for()
    page.goto(f"{site}/account/second-factor/webauthn/")
    look_at(page, "passkeys")
    page.get_by_role("link", name="Rename").click()
    look_at(page, "passkey-rename")
    page.get_by_label("Name").fill("Ada’s key")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("heading", name="Ada’s key").wait_for()
    page.context.clear_cookies()
    page.goto(f"{site}/admin/settings/")
    page.get_by_role("button", name="Sign in with a passkey").click()
    page.wait_for_url(f"{site}/admin/settings/")
    page.context.clear_cookies()
    page.goto(f"{site}/admin/")
    sign_in(page)
    page.get_by_role("button", name="Use a passkey").click()
    page.wait_for_url(f"{site}/admin/")
    page.goto(f"{site}/account/second-factor/webauthn/")
    page.get_by_role("link", name="Remove").click()
    page.get_by_role("link", name="Use a passkey").click()
    look_at(page, "passkey-confirm")
    page.get_by_role("button", name="Use a passkey").click()
    page.get_by_role("button", name="Remove passkey").wait_for()
    look_at(page, "passkey-remove")
    page.get_by_role("button", name="Remove passkey").click()
    page.get_by_text("You have no passkeys.").wait_for()
