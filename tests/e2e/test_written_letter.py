"""Writing a letter in a browser: typing, live preview, test, schedule, and sending.

The template editor in a browser: a live preview, and the line of an error.
"""

from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from common.clock import utcnow
from delivery.issues.broadcasts import release_letters
from delivery.models import Broadcast, Delivery, Issue, LetterTemplate
from subscriptions.models import Subscribable
from subscriptions.subscribers.tags import tag_people
from tests.delivery.ledger import HOUR
from tests.delivery.own_letters import a_read_feed
from tests.e2e.browser.screens import NARROW, PICTURES, WIDE, assert_accessible
from tests.examples import NIGHTLY
from tests.factories import SubscribableFactory, SubscriptionFactory
from tests.pictures import drawn, octets_of

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]
TEXT = "#fl-markdown"
NEW = "/admin/delivery/broadcast/add/"


@pytest.fixture
def opened(browser: Any, live_urls: str, admin_client: Client) -> Iterator[Callable[..., Any]]:
    """Yield a function that opens an admin page on a screen of that size, with or without scripts."""
    newsletter = SubscribableFactory(name="weekly", title="The Weekly", time_zone="Europe/Berlin")
    SubscriptionFactory.create_batch(3, subscribable=newsletter)
    cookie = {"name": "sessionid", "value": admin_client.cookies["sessionid"].value, "url": live_urls}
    with ExitStack() as contexts:

        def open_(
            place: str, size: tuple[int, int] = WIDE, *, scripts: bool = True, dark: bool = False
        ) -> Any:
            context = browser.new_context(
                viewport={"width": size[0], "height": size[1]},
                java_script_enabled=scripts,
                color_scheme="dark" if dark else "light",
            )
            contexts.callback(context.close)
            context.set_default_timeout(15_000)
            context.add_cookies([cookie])
            page = context.new_page()
            page.goto(live_urls + place)
            return page

        yield open_


def begun(page: Any, subject: str = "Summer at sea") -> Any:
    """Fill in the form for a new letter, and return its editor."""
    page.get_by_label("Subject").fill(subject)
    page.get_by_role("button", name="Start writing").click()
    page.locator(TEXT).wait_for()
    return page


def look(page: Any, name: str) -> None:
    page.wait_for_load_state()
    if PICTURES:
        width = page.viewport_size["width"]
        dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
        page.screenshot(path=f"{PICTURES}/{name}-{width}-{'dark' if dark else 'light'}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


def test_what_is_typed_before_the_page_is_whole_is_saved(opened: Callable[..., Any]) -> None:
    page = opened(NEW)
    late: list[Any] = []
    page.route("**/writing*.js", lambda route: late.append(route))
    begun(page)
    page.fill(TEXT, "We are away until Monday.")
    assert [route.continue_() for route in late] == [None]
    page.get_by_text("Saved at").wait_for()
    assert Broadcast.objects.get().markdown == "We are away until Monday."


@pytest.mark.parametrize(
    ("size", "dark"),
    [
        (WIDE, False),
        (NARROW, True),
        pytest.param(WIDE, True, marks=NIGHTLY),
        pytest.param(NARROW, False, marks=NIGHTLY),
    ],
)
def test_a_letter_is_written_tried_scheduled_taken_back_and_sent(
    opened: Callable[..., Any], size: Any, dark: bool
) -> None:
    page = opened(NEW, size, dark=dark)
    look(page, "letter-1-begin")
    begun(page)
    page.fill(TEXT, "# Off we go\n\nWe are **away** until Monday.\n\n> Do not feed the gulls.\n")
    page.frame_locator("#fl-day").get_by_text("away", exact=True).wait_for()
    page.get_by_text("Saved at").wait_for()
    page.locator("#fl-day").scroll_into_view_if_needed()
    assert "away" in Broadcast.objects.get().markdown
    look(page, "letter-2-desk")
    assert_accessible(page)

    page.get_by_role("button", name="Send me a test").click()
    page.get_by_text("We’ve sent a test to admin@example.com.").wait_for()
    assert Delivery.objects.get().kind == "test"

    page.get_by_role("button", name="Send …").click()
    page.get_by_text("3 subscribers now").wait_for()
    look(page, "letter-3-send")
    assert_accessible(page)
    page.get_by_label("Send at (Berlin time)").fill(f"{utcnow() + HOUR * 48:%Y-%m-%dT07:00}")
    page.get_by_role("button", name="Schedule", exact=True).click()
    page.get_by_text("Until then you can stop it").wait_for()
    look(page, "letter-4-scheduled")
    assert_accessible(page)
    page.get_by_role("button", name="Cancel schedule and edit").click()
    page.fill(TEXT, "We are **back**.\n")
    page.get_by_role("button", name="Send …").click()
    page.get_by_role("button", name="Send now", exact=True).click()
    page.get_by_text("Sending to 3 subscribers.").wait_for()
    look(page, "letter-5-issue")
    issue = Issue.objects.get()
    assert "back" in issue.text
    assert release_letters(clock=lambda: utcnow() + HOUR * 72) == 0
    assert issue.deliveries.count() == 3
    page.goto(page.url.split("/admin/")[0] + "/admin/delivery/broadcast/")
    look(page, "letter-6-list")


def test_it_is_done_by_keyboard_alone(opened: Callable[..., Any]) -> None:
    page = opened(NEW)
    keys = page.keyboard
    page.get_by_label("Subject").focus()
    keys.type("Summer")
    keys.press("Enter")
    page.locator(TEXT).wait_for()
    page.locator("[name=subject]").focus()
    # Tab through the tools into the text.
    for _ in range(12):
        keys.press("Tab")
        if page.evaluate("document.activeElement.id") == "fl-markdown":
            break
    assert page.evaluate("document.activeElement.id") == "fl-markdown"
    keys.type("Hello ")
    keys.press("Control+b")
    keys.type("all")
    page.frame_locator("#fl-day").locator("strong", has_text="all").wait_for()
    # Tab leaves every field; a picture is one stop.
    for _ in range(4):
        keys.press("Tab")
    assert page.evaluate("document.activeElement.value") == "send"
    keys.press("Enter")
    page.get_by_role("button", name="Send now", exact=True).focus()
    keys.press("Enter")
    page.get_by_text("Sending to 3 subscribers.").wait_for()
    assert Issue.objects.get().text.count("Hello all") == 1


def test_it_works_without_scripts_by_buttons(opened: Callable[..., Any]) -> None:
    page = begun(opened(NEW, NARROW, scripts=False))
    page.fill(TEXT, "We are **away**.")
    page.get_by_role("button", name="Preview", exact=True).click()
    page.frame_locator("#fl-day").locator("strong", has_text="away").wait_for()
    page.get_by_role("button", name="Send …").click()
    page.get_by_role("button", name="Send now", exact=True).click()
    page.get_by_text("Sending to 3 subscribers.").wait_for(state="attached")
    assert Issue.objects.get().deliveries.count() == 3


@pytest.mark.parametrize(("size", "dark"), [(WIDE, False), (NARROW, True)])
def test_a_letter_with_a_picture_goes_to_a_segment(opened: Callable[..., Any], size: Any, dark: bool) -> None:
    weekly = Subscribable.objects.get(name="weekly")
    people = weekly.subscriptions.values_list("destination_id", flat=True)
    tag_people(destinations=people[:2], names=["Friends of the harbour"])
    tag_people(destinations=people[:1], names=["press", "donor", "volunteer"])
    SubscribableFactory(name="daily", title="The Daily")
    page = begun(opened(f"{NEW}?subscribable={weekly.pk}", size, dark=dark))
    page.fill(TEXT, "Hello %toNicknameOrEmail%, look:\n\n")
    picture = {"name": "x.png", "mimeType": "image/png", "buffer": octets_of(drawn(600, 300))}
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Picture", exact=True).click()
    chooser.value.set_files(picture)
    page.get_by_text("Picture added.").wait_for()
    # The description is asked for, and has the focus.
    page.keyboard.type("The [old] harbour")
    page.keyboard.press("Enter")
    assert "![The old harbour](/pictures/" in page.input_value(TEXT)
    assert not page.get_by_label("What does the picture show?").is_visible()
    page.frame_locator("#fl-day").get_by_alt_text("The old harbour").wait_for()
    page.frame_locator("#fl-day").get_by_text("Hello Ada, look:", exact=True).wait_for()
    look(page, "letter-7-picture")
    assert_accessible(page)

    page.get_by_role("button", name="Send …").click()
    page.get_by_text("3 subscribers now").wait_for()
    page.get_by_text("Choose recipients").click()
    page.get_by_label("Friends of the harbour").first.check()
    look(page, "letter-8-choose")
    assert_accessible(page)
    page.get_by_role("button", name="Update recipients").click()
    page.get_by_text("2 of 3 subscribers now").first.wait_for()
    look(page, "letter-9-counted")
    # Enter in the time field sends nothing.
    page.get_by_label("Send at (Berlin time)").press("Enter")
    page.get_by_text("2 of 3 subscribers now").first.wait_for()
    assert not Issue.objects.exists()
    page.get_by_role("button", name="Send now", exact=True).click()
    page.get_by_text("Sending to 2 subscribers").wait_for()
    look(page, "letter-10-issue")
    assert Delivery.objects.count() == 2
    assert "The old harbour" in Issue.objects.get().html


@pytest.mark.parametrize(("kind", "part"), [("paste", "clipboardData"), ("drop", "dataTransfer")])
def test_a_pasted_or_dropped_picture_is_uploaded(opened: Callable[..., Any], kind: str, part: str) -> None:
    page = begun(opened(NEW))
    page.fill(TEXT, "Look: ")
    give = """([selector, kind, part, files]) => {
        const data = new DataTransfer();
        for (const [name, type, octets] of files)
            data.items.add(new File([Uint8Array.from(atob(octets), (c) => c.charCodeAt(0))], name, { type }));
        const event = new Event(kind, { bubbles: true, cancelable: true });
        Object.defineProperty(event, part, { value: data });
        return document.querySelector(selector).dispatchEvent(event);
    }"""
    octets = b64encode(octets_of(drawn(60, 30))).decode()
    files = [["a.png", "image/png", octets], ["b.png", "image/png", octets], ["c.txt", "text/plain", "YQ=="]]
    # The browser's own way, such as opening the file, is prevented.
    assert not page.evaluate(give, [TEXT, kind, part, files])
    shows = page.get_by_label("What does the picture show?")
    shows.wait_for()
    page.keyboard.type("The first")
    page.get_by_role("button", name="Done").click()
    assert shows.input_value() == ""
    page.keyboard.type("The second")
    page.keyboard.press("Enter")
    text = page.input_value(TEXT)
    assert text.startswith("Look: ![")
    assert text.count("](/pictures/") == 2
    assert "![The first](" in text
    page.get_by_text("Saved at").wait_for()
    assert Broadcast.objects.get().markdown.strip() == text.strip()
    # Text is pasted as always, and a file that is no picture is refused with a sentence.
    assert page.evaluate(give, [TEXT, kind, part, files[2:]])
    page.evaluate(give, [TEXT, kind, part, [["x.png", "image/png", "YQ=="]]])
    page.get_by_text("Not uploaded.").wait_for()


def test_two_windows_are_told_of_each_other(opened: Callable[..., Any]) -> None:
    one = begun(opened(NEW))
    place = reverse("admin:delivery_broadcast_change", args=[Broadcast.objects.get().pk])
    two = opened(place)
    one.fill(TEXT, "The first")
    one.get_by_text("Saved at").wait_for()
    two.fill(TEXT, "The second")
    two.get_by_text("in another window").wait_for()
    assert Broadcast.objects.get().markdown == "The first"
    assert two.input_value(TEXT) == "The second"


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
