"""No button on an admin page loses typed text without a warning."""

from typing import Any

import pytest
from django.urls import reverse

from common.admin.html import object_url
from delivery.issues.complete import complete_due
from delivery.models import Issue
from tests.delivery.collecting import MIDNIGHT, a_newsletter, collect, open_collection
from tests.e2e.browser.screens import answered, sign_in
from tests.factories import FeedFactory

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
