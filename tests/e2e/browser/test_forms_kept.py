"""Admin forms keep their input after Back and a reload, and copy buttons copy."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.browser.screens import sign_in
from tests.factories import FeedFactory, SubscribableFactory

SENDER = "Harbour <letters@harbour.example>"
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def tab(browser: Any, site: str) -> Iterator[Any]:
    context = browser.new_context(reduced_motion="reduce", permissions=["clipboard-read", "clipboard-write"])
    context.set_default_timeout(20_000)
    page = context.new_page()
    sign_in(page, site)
    yield page
    context.close()


def test_the_mail_check_is_copied_from_and_stays(tab: Any, site: str, settings: Any) -> None:
    settings.EMAIL_URL = "mailbox:"
    SubscribableFactory(name="harbour", from_email=SENDER)
    tab.goto(f"{site}/admin/mail-check/")
    tab.select_option("[name=newsletter]", "harbour")
    tab.get_by_role("button", name="Check now").click()
    result = tab.locator("#fl-result")
    result.wait_for()
    # Without a mail server the result reports neither an error nor success.
    assert result.inner_text().startswith("Emails are kept in the mailbox here and not sent.")
    assert tab.get_by_role("link", name="Set up email").count()
    button = tab.locator("[data-copy]").first
    wanted = button.locator("xpath=preceding-sibling::pre").inner_text()
    button.focus()
    tab.keyboard.press("Enter")
    tab.get_by_role("button", name="Copied").first.wait_for()
    assert tab.evaluate("navigator.clipboard.readText()") == wanted
    shown = result.inner_text()
    tab.goto(f"{site}/admin/")
    tab.go_back()
    assert result.inner_text() == shown
    assert tab.input_value("[name=newsletter]") == "harbour"
    tab.reload()
    assert result.inner_text() == shown


def test_without_a_clipboard_the_text_is_copied_the_old_way(tab: Any, site: str, settings: Any) -> None:
    settings.EMAIL_URL = "mailbox:"
    SubscribableFactory(from_email=SENDER)
    tab.add_init_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    tab.goto(f"{site}/admin/mail-check/")
    tab.get_by_role("button", name="Check now").click()
    button = tab.locator("[data-copy]").first
    button.click()
    tab.get_by_role("button", name="Copied").first.wait_for()
    chosen = tab.evaluate("getSelection().toString()")
    assert chosen == button.locator("xpath=preceding-sibling::pre").inner_text()


def test_what_was_typed_is_there_again(tab: Any, site: str) -> None:
    feed = FeedFactory(title="Harbour Notes")
    url = f"{site}/admin/feeds/feed/{feed.pk}/change/"
    tab.goto(url)
    title = tab.locator("[name=title]")
    title.fill("Typed, and not sent")
    title.blur()
    tab.on("dialog", lambda dialog: dialog.accept())
    tab.goto(f"{site}/admin/")
    tab.go_back()
    assert title.input_value() == "Typed, and not sent"
    tab.reload()
    assert title.input_value() == "Typed, and not sent"
    # The saved value is shown as saved.
    title.fill("Typed, and sent")
    tab.locator("[name=_save]").click()
    tab.get_by_text("was changed successfully").wait_for()
    tab.goto(url)
    feed.refresh_from_db()
    assert (feed.title, title.input_value()) == ("Typed, and sent", "Typed, and sent")


def test_menus_are_worked_with_keys_alone(tab: Any, site: str) -> None:
    FeedFactory(title="Harbour Notes")
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.goto(f"{site}/admin/feeds/feed/")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "Skip to the content"
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert tab.evaluate(outline) != "none"
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "main"
    menu = tab.locator(".fl-menu-narrow")
    menu.focus()
    tab.keyboard.press("Enter")
    tab.locator("#nav-sidebar").wait_for(state="visible")
    tab.wait_for_function("document.activeElement.closest('#nav-sidebar') !== null")
    tab.keyboard.press("Escape")
    tab.locator("#nav-sidebar").wait_for(state="hidden")
    assert tab.evaluate("document.activeElement.className").startswith("fl-menu")
    tab.get_by_role("button", name="Filters").focus()
    tab.keyboard.press("Enter")
    filters = tab.locator("#changelist-filter")
    filters.wait_for(state="visible")
    tab.wait_for_function("document.activeElement.closest('#changelist-filter') !== null")
    tab.keyboard.press("Escape")
    filters.wait_for(state="hidden")
    assert tab.evaluate("document.activeElement.textContent").strip().startswith("Filters")
