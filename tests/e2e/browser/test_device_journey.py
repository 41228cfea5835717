"""A reader turns on notifications in a real browser, gets one by its service worker, and leaves.

Chromium's own push service is Google's, which tests must not call. So the page's `subscribe` returns an
endpoint of the test's push service, which holds the private keys. Messages that it has verified and decrypted
are delivered to the real service worker over CDP.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from common.clock import utcnow
from delivery.engine.send_pass import send_due
from delivery.issues.complete import complete_due
from delivery.models import Delivery
from subscriptions.collections.assign import assign_final
from subscriptions.models import Destination, Subscribable, Subscription
from tests import services
from tests.browsers import ARGUMENTS
from tests.e2e.browser.screens import Screen, Seen, look_at
from tests.factories import FeedFactory, FinalItemFactory, SubscribableFactory, an_entry
from tests.servers.services.push_service import PushService

pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("loopback_allowed"),
]

# Replaces the browser's way to its push service; everything else is the browser's own.
SUBSCRIBE = """
(all => {
  const kept = { get: () => Number(localStorage.getItem("pushes") || 0),
                 set: (number) => localStorage.setItem("pushes", number) };
  const made = ({ endpoint, ...keys }) => ({ endpoint, toJSON: () => ({ endpoint, keys }),
    unsubscribe: async () => { kept.set(-kept.get()); return true; } });
  PushManager.prototype.getSubscription = async () => kept.get() > 0 ? made(all[kept.get() - 1]) : null;
  PushManager.prototype.subscribe = async (options) => {
    if (!options.userVisibleOnly) throw new Error("userVisibleOnly");
    localStorage.setItem("key", options.applicationServerKey);
    kept.set(1 - kept.get());
    return made(all[kept.get() - 1]);
  };
})(%s)
"""
MOST_PUSHES = 15
SHOWN = """async () => (await (await navigator.serviceWorker.getRegistration("/")).getNotifications())
  .map(one => ({ title: one.title, body: one.body, tag: one.tag, data: one.data,
                 actions: one.actions.map(action => action.title) }))"""


@pytest.fixture
def service() -> Iterator[PushService]:
    with PushService() as running:
        yield running


@pytest.fixture
def reader(browser: Any, screen: Screen, site: str, service: PushService, tmp_path: Path) -> Iterator[Any]:
    """Open a page of a reader who permits notifications.

    Uses the whole Chromium: the headless shell shows no notifications.
    """
    path = services.program("chromium")
    if not screen.scripts or path is None:
        pytest.skip("Notifications need scripts, and Chromium.")
    context = browser.browser_type.launch_persistent_context(
        tmp_path, executable_path=path, args=ARGUMENTS, **screen.options
    )
    context.set_default_timeout(10_000)
    context.grant_permissions(["notifications"], origin=site)
    context.add_init_script(
        SUBSCRIBE % json.dumps([service.subscribe(f"/push/{number}") for number in range(1, 4)])
    )
    seen = Seen()
    yield seen.watched(context.pages[0])
    context.close()
    assert not seen.complaints, seen.complaints


def a_newsletter() -> Subscribable:
    """Return a per-post newsletter for devices, on a feed that was just read."""
    feed = FeedFactory(fetched_through=utcnow())
    made: Subscribable = SubscribableFactory(
        name="harbour", title="Harbour News", feeds=[feed], offers_devices=True
    )
    return made


def post_arrives(newsletter: Subscribable) -> None:
    """Add a settled post and assign it to issues."""
    post = an_entry(title="Ice on the ropes", summary="The harbour in winter.", guid="1")
    FinalItemFactory(feed=newsletter.feeds.get(), entry=post.to_json(), title=post.title)
    assign_final()


class PushedBrowser:
    """Browser that wakes its worker with pushes, and reports errors."""

    def __init__(self, page: Any, site: str) -> None:
        self.page, self.site = page, site
        self.registrations: list[str] = []
        self.errors: list[str] = []
        self.cdp = page.context.new_cdp_session(page)
        self.cdp.on("ServiceWorker.workerRegistrationUpdated", self._registered)
        self.cdp.on("ServiceWorker.workerErrorReported", lambda said: self.errors.append(str(said)))
        self.cdp.send("ServiceWorker.enable")

    def _registered(self, said: dict[str, Any]) -> None:
        self.registrations += [one["registrationId"] for one in said["registrations"]]

    def shows(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the notifications once the message is among them.

        A busy browser may drop a push, so it is repeated, as push services do.
        """
        for _ in range(MOST_PUSHES):
            if self.registrations:
                push = {"registrationId": self.registrations[0], "data": json.dumps(message)}
                self.cdp.send("ServiceWorker.deliverPushMessage", {"origin": self.site, **push})
            for _ in range(20):
                self.page.wait_for_timeout(100)
                shown: list[dict[str, Any]] = self.page.evaluate(SHOWN)
                if message["tag"] in [one["tag"] for one in shown]:
                    return shown
        raise AssertionError(f"No notification was shown: {self.errors}")


def test_a_reader_is_told_of_an_issue_on_the_device_and_leaves(
    reader: Any, site: str, service: PushService
) -> None:
    newsletter = a_newsletter()
    reader.goto(f"{site}/s/harbour/")
    reader.get_by_role("button", name="Notify me on this device").wait_for()
    look_at(reader, "device-offered")
    turn_on(reader)
    look_at(reader, "device-told")
    assert Subscription.objects.get().status == "confirmed"
    # The page's key must be the one that signs.
    service.public_key = reader.evaluate("localStorage.getItem('key')")

    post_arrives(newsletter)
    complete_due()
    send_due()
    assert Delivery.objects.get().state == "sent", Delivery.objects.get().last_error
    [message] = service.taken
    browser = PushedBrowser(reader, site)
    [notification] = browser.shows(message)
    assert notification["title"] == "Ice on the ropes"
    assert notification["body"].startswith("Harbour News")
    assert notification["actions"] == ["Stop notifications on this device"]
    assert notification["data"] == {"url": message["url"], "leave": message["leave"]}
    # A repeated push replaces the first; another issue's is added to it.
    browser.shows(message)
    assert len(browser.shows({**message, "tag": "another"})) == 2

    # A tap opens the issue, where the device can unsubscribe.
    reader.goto(message["url"])
    reader.get_by_role("heading", name="Ice on the ropes").wait_for()
    reader.get_by_role("button", name="Stop notifications on this device").wait_for()
    look_at(reader, "device-issue")
    reader.get_by_role("button", name="Stop notifications on this device").click()
    reader.get_by_text("You won’t get notifications on this device").wait_for()
    assert Subscription.objects.get().status == "unsubscribed"
    # Once more, by the notification's own button.
    turn_on(reader)
    reader.goto(message["leave"])
    look_at(reader, "device-leave")
    reader.get_by_role("button", name="Unsubscribe from Harbour News").click()
    reader.get_by_role("heading", name="You’re unsubscribed").wait_for()
    assert Subscription.objects.get().status == "unsubscribed"
    # A device that was given up gets a new address.
    reader.goto(f"{site}/s/harbour/")
    turn_on(reader)
    known = Destination.objects.count()
    Destination.objects.update(disabled_at=utcnow(), disabled_reason="410")
    reader.reload()
    turn_on(reader)
    assert Destination.objects.filter(disabled_at=None).count() == 1
    assert Destination.objects.count() == known + 1


def turn_on(page: Any) -> None:
    page.get_by_role("button", name="Notify me on this device").click()
    page.get_by_text("You’ll get a notification on this device").wait_for()


def test_a_browser_that_said_no_says_what_to_do(page: Any, site: str) -> None:
    if page.is_plain:
        pytest.skip("Notifications need scripts.")
    page.add_init_script("Object.defineProperty(Notification, 'permission', { value: 'denied' })")
    a_newsletter()
    page.goto(f"{site}/s/harbour/")
    page.get_by_text("Your browser blocks notifications").wait_for()
    assert not page.get_by_role("button", name="Notify me on this device").is_visible()
    look_at(page, "device-denied")


def test_a_browser_without_push_and_one_without_scripts_show_nothing_of_it(page: Any, site: str) -> None:
    if not page.is_plain:
        page.add_init_script("delete window.PushManager")
    a_newsletter()
    page.goto(f"{site}/s/harbour/")
    page.get_by_role("button", name="Subscribe to Harbour News").wait_for()
    assert page.locator(".device").count() == 1
    assert not page.locator(".device").is_visible()
