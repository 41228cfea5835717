"""Every page for every role, on every screen, in a verbose language and from right to left."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from common.ports.channels import bridge_kinds
from delivery.admin.bridges.set_up import reconnect_url
from subscriptions.models import Subscription
from tests.e2e.browser.every_page import (
    admin_pages,
    fill,
    mailbox_pages,
    reader_pages,
    sign_in_url,
    signed_in_pages,
)
from tests.e2e.browser.screens import (
    CONTRAST,
    NARROW,
    OPTIONS,
    WIDE,
    assert_accessible,
    broken_words,
    covered,
    sign_in,
    too_wide,
    unseen_states,
)
from tests.examples import NIGHTLY, examples
from tests.feeds.conftest import server
from tests.feeds.watched import post
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer

__all__ = ["server"]

NEEDS_APP = "reader"
pytestmark = [pytest.mark.needs("chat"), pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# One of each kind, for the quick run.
SOME = (
    "index",
    "mail_check",
    "feeds_feed_changelist",
    "feeds_feed_change",
    "bridge_set_up",
    "subscriptions_subscribable_add",
    "subscriptions_subscribable_change-settings",
    "subscriptions_destination_changelist",
    "delivery_issue_history",
    "auth_user_change",
    "auth_user_delete",
    "auth_user_invite",
    "feedletter_site_arrival_change",
    "feedletter_site_arrival_add",
    "your_account",
)
NARROWEST = 320
# Whether a control of the page itself has the focus: none of the menu, nor the button that hides it.
IN_CONTENT = "document.activeElement.matches('#main :is(a, button:not(.fl-menu), input, select)')"
LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("he", "Hebrew")]


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """Open one page for a whole walk."""
    context = browser.new_context(reduced_motion="reduce", bypass_csp=True)
    context.set_default_timeout(20_000)
    yield context.new_page()
    context.close()


def walk(tab: Any, site: str, pages: Any) -> Iterator[str]:
    """Open each page; yield its name for the checks."""
    for name, address in pages:
        answer = tab.goto(address if address.startswith("http") else site + address)
        if answer.status == 403:
            # No permission to add or delete it.
            assert name.endswith(("_add", "_delete")), name
            continue
        assert answer.status in (200, 400, 404), (name, answer.status)
        yield name


def set_screen(tab: Any, size: tuple[int, int], scheme: str) -> None:
    tab.emulate_media(color_scheme=scheme)
    tab.set_viewport_size({"width": size[0], "height": size[1]})


def faults(tab: Any) -> list[str]:
    """Return a page's faults by day and by night, on a desktop and phones, and in forced colours.

    The contrast of the other two, a desktop by night and a phone by day, is left to `make nightly`.
    """
    found = []
    for size, schemes in ((WIDE, ("light", "dark")), (NARROW, ("dark", "light"))):
        ways = [*zip(schemes, (OPTIONS, CONTRAST), strict=True)]
        for scheme, options in ways[: examples(2)]:
            set_screen(tab, size, scheme)
            try:
                assert_accessible(tab, options=options)
            except AssertionError as error:
                found.append(f"{size[0]} {scheme} {error}")
        found += [f"{size[0]} wider than the screen: {each}" for each in too_wide(tab)]
        found += [f"{size[0]} a word is broken: {each}" for each in broken_words(tab)]
    found += [f"unseen in forced colours: {each}" for each in unseen_states(tab)]
    tab.set_viewport_size({"width": NARROWEST, "height": 700})
    return found + [f"{NARROWEST} wider than the screen: {each}" for each in too_wide(tab)]


def assert_for_everyone(tab: Any, site: str, pages: Any) -> None:
    found = [f"{name}: {each}" for name in walk(tab, site, pages) for each in faults(tab)]
    assert not found, "\n".join(found)


@pytest.mark.slow
def test_some_pages_of_the_admin_are_for_everyone(tab: Any, site: str) -> None:
    fill()
    sign_in(tab, site)
    pages = dict(admin_pages())
    assert_for_everyone(tab, site, [(name, pages[name]) for name in SOME])


@NIGHTLY
def test_an_opened_fold_covers_none_of_its_fields(tab: Any, site: str, server: FeedServer) -> None:
    fill()
    sign_in(tab, site)
    client = Client()
    client.force_login(User.objects.get(username="ada"))
    bridges = [(f"bridge-{kind.key}", f"{reverse('add_bridge')}?kind={kind.key}") for kind in bridge_kinds()]
    again = reconnect_url(Subscription.objects.get(destination__kind="mastodon"))
    pages = [*admin_pages(), *bridges, ("again", again), *reader_pages()]
    folded = {name: url for name, url in pages if b"<details" in html_of(client, url)}
    assert folded.keys() >= {"feeds_feed_add", "subscriptions_subscribable_change-share", "again"}
    found: list[str] = []
    for name in walk(tab, site, folded.items()):
        found += covered_by_folds(tab, name)
    tab.goto(f"{site}{reverse('admin:feeds_feed_add')}")
    tab.get_by_label("Address").fill(server.serve("/feed.xml", rss([post("a")])))
    tab.get_by_role("button", name="Find feeds").click()
    tab.get_by_text("How long to wait for changes").wait_for()
    found += covered_by_folds(tab, "preview")
    assert not found, "\n".join(found)


def html_of(client: Client, url: str) -> bytes:
    """Return a page; nothing for a download, which is streamed."""
    return getattr(client.get(url, follow=True), "content", b"")


def covered_by_folds(tab: Any, name: str) -> list[str]:
    found = []
    for size in (WIDE, NARROW):
        tab.set_viewport_size({"width": size[0], "height": size[1]})
        found += [f"{name} {size[0]}: {each}" for each in covered(tab)]
    return found


@pytest.mark.slow
def test_the_keyboard_reaches_the_content_of_an_admin_page_in_few_steps(tab: Any, site: str) -> None:
    sign_in(tab, site)
    set_screen(tab, WIDE, "light")
    for skips, most in ((True, 3), (False, 12)):
        tab.goto(f"{site}/admin/feeds/feed/")
        before = 0
        while not tab.evaluate(IN_CONTENT) and before <= most:
            tab.keyboard.press("Tab")
            before += 1
            if skips and before == 1:
                tab.keyboard.press("Enter")
        # The last press reaches the content.
        assert before <= most + (not skips), (skips, before)


@NIGHTLY
def test_every_page_of_the_admin_is_for_everyone(tab: Any, site: str) -> None:
    fill()
    sign_in(tab, site)
    pages = list(admin_pages())
    assert len(pages) > 100
    assert_for_everyone(tab, site, pages)


@NIGHTLY
def test_every_page_of_the_admin_is_for_everyone_before_there_is_anything(tab: Any, site: str) -> None:
    sign_in(tab, site)
    pages = [
        (name, url) for name, url in admin_pages() if name.endswith(("list", "index", "steps", "mail_set_up"))
    ]
    assert_for_everyone(tab, site, pages)


@pytest.mark.slow
def test_every_page_of_a_reader_is_for_everyone(tab: Any, site: str) -> None:
    fill()
    assert_for_everyone(tab, site, reader_pages())
    tab.goto(sign_in_url())
    tab.locator("main form button").first.click()
    tab.wait_for_url("**/mine/")
    assert_for_everyone(tab, site, signed_in_pages())


@pytest.mark.slow
def test_the_mailbox_is_for_everyone(tab: Any, site: str, settings: Any) -> None:
    settings.EMBEDDED = True
    fill()
    sign_in(tab, site)
    assert_for_everyone(tab, site, mailbox_pages())


@pytest.mark.slow
@pytest.mark.parametrize(
    "language", ["de", pytest.param("he", marks=NIGHTLY)], ids=["German", "right to left"]
)
def test_no_readers_page_is_wider_than_the_narrowest_phone(
    tab: Any, site: str, settings: Any, language: str
) -> None:
    settings.LANGUAGES = LANGUAGES
    fill()
    tab.set_extra_http_headers({"Accept-Language": language})
    set_screen(tab, (NARROWEST, 700), "light")
    directions = {"de": "ltr", "he": "rtl"}
    wide: list[str] = []
    for pages in (reader_pages, None):
        if pages is None:
            tab.goto(sign_in_url())
            tab.locator("main form button").first.click()
            tab.wait_for_url("**/mine/")
        for name in walk(tab, site, (pages or signed_in_pages)()):
            wide += [f"{name}: {each}" for each in too_wide(tab)]
            assert (tab.evaluate("document.documentElement.dir") or "ltr") == directions[language], name
            assert_accessible(tab)
    assert not wide, "\n".join(wide)


@NIGHTLY
@pytest.mark.parametrize("language", ["de", "he"], ids=["German", "right to left"])
def test_no_page_of_the_admin_is_wider_than_the_narrowest_phone(
    tab: Any, site: str, settings: Any, language: str
) -> None:
    settings.LANGUAGES, settings.LANGUAGE_CODE = LANGUAGES, language
    fill()
    sign_in(tab, site)
    set_screen(tab, (NARROWEST, 700), "light")
    wide = [f"{name}: {each}" for name in walk(tab, site, admin_pages()) for each in too_wide(tab)]
    assert not wide, "\n".join(wide)
