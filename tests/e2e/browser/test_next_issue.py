"""Edit the next issue by keyboard alone, on desktop and phone, with and without scripts."""

from typing import Any

import pytest
from django.urls import reverse

from common.admin.html import object_url
from delivery.issues.complete import complete_due
from delivery.issues.contents import collected
from delivery.models import Delivery, Issue
from subscriptions.models import Assignable
from tests.delivery.collecting import MIDNIGHT, a_newsletter, collect, open_collection
from tests.e2e.browser.screens import answered, sign_in

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def editor(page: Any, site: str) -> Any:
    """Return a page with a signed-in admin."""
    sign_in(page, site)
    return page


def press(page: Any, label: str) -> None:
    """Focus the button and press Enter."""
    page.get_by_role("button", name=label, exact=True).first.focus()
    with answered(page):
        page.keyboard.press("Enter")


def titles(page: Any) -> list[str]:
    return list(page.locator("ol.fl-edits .fl-edit-title a").all_inner_texts())


def a_collection(posts: int = 3) -> tuple[Assignable, list[str]]:
    newsletter = a_newsletter(title="Harbour News", name="harbour")
    items = collect(newsletter, posts)
    return open_collection(newsletter), [item.title for item in reversed(items)]


def test_it_is_found_ordered_worded_held_and_sent(editor: Any, site: str) -> None:
    collection, (first, second, third) = a_collection()
    editor.goto(site + reverse("admin:subscriptions_subscribable_change", args=[collection.subscribable_id]))
    assert editor.get_by_role("button", name="Send now").is_visible()
    assert titles(editor) == [first, second, third]
    press(editor, f"Move “{third}” up")
    assert titles(editor) == [first, third, second]
    # The same button keeps the focus, so Enter repeats the move.
    editor.locator("button[value=up]:focus").wait_for()
    with answered(editor):
        editor.keyboard.press("Enter")
    assert titles(editor) == [third, first, second]
    press(editor, f"Leave out “{first}”")
    assert titles(editor) == [third, second]
    press(editor, f"Put back “{first}”")
    press(editor, f"Undo putting back “{first}”")
    assert titles(editor) == [third, second]
    editor.get_by_label("Subject", exact=True).fill("Spring is here")
    editor.get_by_label("Note above the posts").fill("Hello from **the harbour**.")
    press(editor, "Save text")
    letter = editor.locator(".fl-letter iframe").get_attribute("srcdoc")
    assert "the harbour</strong>" in letter
    assert first not in letter
    look_at_admin(editor, "next-issue")
    press(editor, "Hold for approval")
    press(editor, "Send on schedule")
    press(editor, "Send now")
    look_at_admin(editor, "next-issue-send-now")
    press(editor, "Send now")
    editor.get_by_text("This issue is being sent.").wait_for()
    issue = Issue.objects.get()
    assert issue.subject == "Spring is here"
    assert [row.entry["title"] for row in issue.issue_items.order_by("position")] == [third, second]
    assert Delivery.objects.count() == 2


def test_the_last_of_24_posts_is_at_the_top_after_one_press(editor: Any, site: str) -> None:
    collection, before = a_collection(24)
    editor.goto(site + object_url(collection))
    assert editor.locator("h1").inner_text().startswith("Next issue of Harbour News · ")
    press(editor, f"Move “{before[-1]}” to top")
    assert titles(editor) == [before[-1], *before[:-1]]
    look_at_admin(editor, "next-issue-24")
    assert [row.entry.title for row in collected(collection).posts] == titles(editor)


def test_a_note_that_is_being_typed_outlives_a_move(editor: Any, site: str) -> None:
    collection, (first, second, third) = a_collection()
    editor.goto(site + object_url(collection))
    editor.get_by_label("Note above the posts").press_sequentially("Hello, harbour")
    press(editor, f"Move “{first}” down")
    assert titles(editor) == [second, first, third]
    assert editor.get_by_label("Note above the posts").input_value() == "Hello, harbour"
    collection.refresh_from_db()
    assert collection.note_top == "Hello, harbour"
    assert "Hello, harbour" in editor.locator(".fl-letter iframe").get_attribute("srcdoc")


def test_text_is_saved_and_posts_are_moved_by_pointer_and_arrow_keys(editor: Any, site: str) -> None:
    if editor.is_plain:
        pytest.skip("needs scripts")
    collection, (first, second, third) = a_collection()
    editor.goto(site + object_url(collection))
    with answered(editor):
        editor.get_by_label("Note below the posts").press_sequentially("Until Monday")
    collection.refresh_from_db()
    assert collection.note_foot == "Until Monday"
    grips = editor.locator(".fl-grip")
    grips.last.scroll_into_view_if_needed()
    start, end = grips.last.bounding_box(), editor.locator("ol.fl-edits li").first.bounding_box()
    with answered(editor):
        editor.mouse.move(start["x"] + 5, start["y"] + 5)
        editor.mouse.down()
        editor.mouse.move(end["x"] + 5, end["y"] + 2, steps=8)
        editor.mouse.up()
    assert titles(editor) == [third, first, second]
    editor.locator(".fl-grip:focus").wait_for()
    with answered(editor):
        editor.keyboard.press("ArrowDown")
    assert titles(editor) == [first, third, second]
    assert [row.entry.title for row in collected(collection).posts] == titles(editor)


def test_a_draft_is_edited(editor: Any, site: str) -> None:
    items = collect(a_newsletter(approval="click", title="Harbour News"), 3)
    complete_due(clock=lambda: MIDNIGHT)
    issue = Issue.objects.get()
    editor.goto(site + object_url(issue))
    press(editor, f"Leave out “{items[1].title}”")
    press(editor, f"Move “{items[0].title}” up")
    assert titles(editor) == [items[0].title, items[2].title]
    editor.get_by_label("Note below the posts").fill("See you on Monday.")
    press(editor, "Save text")
    look_at_admin(editor, "draft")
    press(editor, "Undo the change of words")
    assert Issue.objects.get().note_foot == ""


def look_at_admin(page: Any, name: str) -> None:
    """Assert that nothing is wider than the screen; take a picture if asked for."""
    from tests.e2e.browser import screens

    if screens.PICTURES:
        page.wait_for_load_state()
        size = f"{page.viewport_size['width']}-{screens._scheme(page)}"
        page.screenshot(path=f"{screens.PICTURES}/{name}-{size}.png", full_page=True)
    width = page.viewport_size["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width, page.url
