"""The template editor in a browser: a live preview, and the line of an error."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from delivery.models import LetterTemplate
from tests.delivery.own_letters import a_read_feed
from tests.factories import SubscribableFactory

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def editor(browser: Any, live_urls: str, admin_client: Client) -> Iterator[Callable[[bool], Any]]:
    """Yield a function that opens the editor of a newsletter's letter, with or without scripts."""
    SubscribableFactory(name="weekly", feeds=[a_read_feed()])
    cookie = {"name": "sessionid", "value": admin_client.cookies["sessionid"].value, "url": live_urls}
    with ExitStack() as opened:

        def open_(scripts: bool) -> Any:
            context = browser.new_context(java_script_enabled=scripts)
            opened.callback(context.close)
            context.set_default_timeout(15_000)
            context.add_cookies([cookie])
            page = context.new_page()
            place = reverse("admin:delivery_lettertemplate_edit", args=["weekly", "issues", "post"])
            page.goto(live_urls + place)
            return page

        yield open_


def test_it_works_without_scripts_by_a_button(editor: Callable[[bool], Any]) -> None:
    page = editor(False)
    page.fill("#fl-source-html", "Hello %toNickname%")
    page.get_by_role("button", name="Preview", exact=True).click()
    page.frame_locator("#fl-day").get_by_text("Hello Ada").wait_for()
    page.fill("#fl-source-html", "fine\n{% nope %}")
    page.get_by_role("button", name="Save and use it").click()
    page.get_by_text("2  {% nope %}").wait_for()
    assert not LetterTemplate.objects.exists()


def test_the_preview_and_mistakes_follow_the_typing(editor: Callable[[bool], Any]) -> None:
    edited = editor(True)
    edited.fill(
        "#fl-source-html", "<p>Hello %toNickname%</p>\n<script>document.body.textContent='ran'</script>"
    )
    edited.frame_locator("#fl-day").get_by_text("Hello Ada").wait_for()
    edited.fill("#fl-source-subject", "For %toNickname%")
    edited.wait_for_function("document.getElementById('fl-subject').textContent === 'For Ada'")
    edited.locator("label[for=fl-source]").click()
    assert "Subject: For Ada" in edited.locator("#fl-raw").text_content()
    # A mistake is marked at its line until it is corrected.
    edited.fill("#fl-source-html", "fine\n{% nope %}")
    edited.locator("#fl-problem").wait_for()
    assert "no tag “nope”" in edited.locator("#fl-problem-words").text_content()
    assert edited.locator(".fl-bad-line").text_content() == "2"
    edited.fill("#fl-source-html", "fine")
    edited.locator("#fl-problem").wait_for(state="hidden")
    edited.get_by_role("button", name="Save and use it").click()
    edited.get_by_text("Version 1 is now in use").wait_for()
    assert LetterTemplate.objects.get().html == "fine"
