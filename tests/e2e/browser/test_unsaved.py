"""No button on an admin page loses typed text without a warning.

Admin forms keep their input after Back and a reload, and copy buttons copy.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import reverse

from common.admin.html import object_url
from delivery.issues.complete import complete_due
from delivery.models import Issue
from tests.delivery.collecting import MIDNIGHT, a_newsletter, collect, open_collection
from tests.e2e.browser.screens import answered, sign_in
from tests.factories import FeedFactory, SubscribableFactory

SENDER = "Harbour <letters@harbour.example>"
NOTE = "A note that took an hour to write."
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def editor(page: Any, site: str) -> Any:
    """Return a page with a signed-in admin. It leaves dialogs unanswered and records them in `asked`."""
    sign_in(page, site)
    page.asked = []

    def ask(dialog: Any) -> None:
        page.asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", ask)
    return page


def buttons_of(page: Any) -> list[tuple[str, str]]:
    """Return name and label of each submit button of the issue's form."""
    names = "each => [each.value, each.ariaLabel || each.textContent.trim()]"
    every = page.evaluate(
        f"[...document.querySelector('#fl-edit').elements].filter(each => each.type == 'submit').map({names})"
    )
    return [(value, words) for value, words in every if words]


def unfold(page: Any, button: Any) -> None:
    """Open the menu of rare actions if the button is in it."""
    if not button.count():
        page.locator(".fl-actions details.fl-rare > summary").click()


@pytest.mark.parametrize(
    "is_draft", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["next", "draft"]
)
def test_no_button_of_an_issues_page_loses_a_typed_note(editor: Any, site: str, is_draft: bool) -> None:
    newsletter = a_newsletter(approval="click")
    collect(newsletter, 3)
    row: Any = open_collection(newsletter)
    if is_draft:
        complete_due(clock=lambda: MIDNIGHT)
        row = Issue.objects.get()
    editor.goto(site + object_url(row))
    pressed: set[str] = set()
    for number in range(40):
        fresh = [each for each in buttons_of(editor) if each[0] not in pressed]
        # Buttons that end the draft are last.
        ordinary = [each for each in fresh if each[0] not in ("discard", "approve")]
        if not fresh:
            break
        value, words = (ordinary or fresh)[0]
        pressed.add(value)
        typed = f"{NOTE} {number}"
        editor.get_by_label("Note above the posts").fill(typed)
        button = editor.get_by_role("button", name=words, exact=True)
        unfold(editor, button)
        button.first.focus()  # moves of a post show when it has the focus
        with answered(editor):
            button.first.click()
        row.refresh_from_db()
        assert row.note_top == typed, words
        editor.goto(site + object_url(row))
        assert editor.get_by_label("Note above the posts").input_value() == typed
    wanted = {"up", "down", "out", "back", "undo", "words"}
    assert wanted | ({"approve", "discard"} if is_draft else {"send_now", "test", "usual"}) <= pressed
    assert not editor.asked


def test_closing_the_tab_asks_first_and_saving_does_not(editor: Any, site: str) -> None:
    if editor.is_plain:
        pytest.skip("a browser without scripts asks nothing")
    newsletter = a_newsletter()
    collect(newsletter, 2)
    row = open_collection(newsletter)
    editor.goto(site + object_url(row))
    note = editor.get_by_label("Note above the posts")
    note.press_sequentially("Hi")
    editor.goto(f"{site}/admin/")
    assert editor.asked == ["beforeunload"]
    editor.goto(site + object_url(row))
    note.press_sequentially("Hi")
    # Typed and removed again: nothing is lost.
    note.press("Backspace")
    note.press("Backspace")
    editor.goto(f"{site}/admin/")
    assert editor.asked == ["beforeunload"]
    editor.goto(site + object_url(row))
    note.press_sequentially("Hi")
    with answered(editor):
        editor.get_by_role("button", name="Save text").click()
    editor.goto(f"{site}/admin/")
    assert editor.asked == ["beforeunload"]


def test_a_button_beside_a_form_says_that_it_saves_nothing(editor: Any, site: str) -> None:
    feed = FeedFactory(title="Harbour Notes")
    newsletter = a_newsletter()
    settings = reverse("admin:subscriptions_subscribable_change", args=[newsletter.pk])
    for place, field, button in (
        (object_url(feed), "title", "Pause"),
        (f"{settings}?tab=settings", "title", "Pause sending"),
    ):
        editor.goto(site + place)
        box = editor.locator(f"#main form[method=post] [name={field}]").first
        box.press_sequentially("Typed ")
        asked = len(editor.asked)
        said = editor.locator("noscript p.fl-quiet").first
        assert said.is_visible() == editor.is_plain
        beside = editor.locator(".fl-actions").get_by_role("button", name=button, exact=True)
        unfold(editor, beside)
        with editor.expect_event("load"):
            beside.first.click()
        assert len(editor.asked) == asked + (not editor.is_plain)


def test_a_form_that_was_refused_is_not_saved_yet(editor: Any, site: str) -> None:
    feed = FeedFactory(title="Harbour Notes")
    editor.goto(site + object_url(feed))
    editor.locator("[name=url]").fill("no address")
    with editor.expect_event("load"):
        editor.locator("[name=_save]").first.click()
    assert editor.locator("[name=url]").input_value() == "no address"
    assert not editor.asked
    editor.goto(f"{site}/admin/")
    assert bool(editor.asked) != editor.is_plain


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
