"""A newsletter's look in a browser: the preview follows the form."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from delivery.customisation import theme_of
from subscriptions.models import Subscribable
from tests.delivery.own_letters import a_read_feed
from tests.e2e.browser.screens import NARROW, WIDE, assert_accessible
from tests.factories import SubscribableFactory
from tests.pictures import drawn, octets_of

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def newsletter() -> Subscribable:
    made: Subscribable = SubscribableFactory(name="weekly", title="The Weekly", feeds=[a_read_feed()])
    return made


@pytest.fixture
def opened(
    browser: Any, live_urls: str, admin_client: Client, newsletter: Subscribable
) -> Iterator[Callable[..., Any]]:
    """Yield a function that opens the Look tab on a screen of that size, with or without scripts."""
    cookie = {"name": "sessionid", "value": admin_client.cookies["sessionid"].value, "url": live_urls}
    place = reverse("admin:subscriptions_subscribable_change", args=[newsletter.pk])
    with ExitStack() as contexts:

        def open_(size: tuple[int, int] = WIDE, *, scripts: bool = True) -> Any:
            context = browser.new_context(
                viewport={"width": size[0], "height": size[1]}, java_script_enabled=scripts
            )
            contexts.callback(context.close)
            context.set_default_timeout(15_000)
            context.add_cookies([cookie])
            page = context.new_page()
            page.goto(f"{live_urls}{place}?tab=look")
            return page

        yield open_


def letter(page: Any) -> Any:
    return page.frame_locator("#fl-day")


def test_it_is_done_by_keyboard_alone_and_saved(opened: Callable[..., Any], newsletter: Subscribable) -> None:
    page = opened()
    keys = page.keyboard
    # Both are visible without scrolling.
    assert page.get_by_label("Accent", exact=True).bounding_box()["y"] < WIDE[1]
    assert page.locator("#fl-day").bounding_box()["y"] < WIDE[1]
    page.get_by_label("Accent", exact=True).focus()
    keys.type("#7a3b9d")
    letter(page).locator("[style*='#7a3b9d']").first.wait_for(state="attached")
    assert page.get_by_label("Choose a colour").first.input_value() == "#7a3b9d"
    page.get_by_label("Header", exact=True).focus()
    keys.type("Good morning from the harbour")
    letter(page).get_by_text("Good morning from the harbour").wait_for()
    assert theme_of(newsletter).accent == ""
    assert_accessible(page)
    keys.press("Enter")
    page.get_by_role("button", name="Save", exact=True).focus()
    keys.press("Enter")
    page.get_by_text("was changed successfully").first.wait_for()
    assert page.url.endswith("?tab=look")
    assert theme_of(newsletter).accent == "#7a3b9d"
    letter(page).get_by_text("Good morning from the harbour").wait_for()


def test_on_a_phone_the_letter_stands_below_and_is_one_tap_away(opened: Callable[..., Any]) -> None:
    page = opened(NARROW)
    page.get_by_label("Footer", exact=True).fill("Printed on recycled bits")
    letter(page).get_by_text("Printed on recycled bits").wait_for()
    button = page.get_by_role("button", name="Preview", exact=True)
    assert button.bounding_box()["y"] < NARROW[1]
    button.press("Enter")
    page.wait_for_function("document.getElementById('preview').getBoundingClientRect().top < 300")
    assert_accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    # A chosen picture is seen before it is saved.
    file = {"name": "logo.png", "mimeType": "image/png", "buffer": octets_of(drawn(200, 100))}
    page.locator("input[type=file][name=logo_picture]").set_input_files(file)
    letter(page).locator("img[src^='data:image/png']").wait_for()


def test_it_works_without_scripts_by_a_button(opened: Callable[..., Any], newsletter: Subscribable) -> None:
    page = opened(NARROW, scripts=False)
    page.get_by_label("Footer", exact=True).fill("Printed on recycled bits")
    page.get_by_role("button", name="Preview", exact=True).click()
    letter(page).get_by_text("Printed on recycled bits").wait_for()
    assert theme_of(newsletter).footer == ""
    assert page.get_by_label("Footer", exact=True).input_value() == "Printed on recycled bits"
