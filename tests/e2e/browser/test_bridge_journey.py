"""Add, preview and test a bridge, and delete the test post, against a fake instance."""

import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from subscriptions.models import Destination, Subscribable
from tests.delivery.bridges.consenting import stand_in
from tests.delivery.bridges.making import a_bridge
from tests.delivery.own_letters import a_read_feed
from tests.e2e.browser.screens import PICTURES, sign_in
from tests.e2e.browser.test_mail_set_up import look
from tests.factories import (
    NOW,
    DestinationFactory,
    FeedDocumentFactory,
    FeedFactory,
    SubscribableFactory,
    SubscriptionFactory,
)
from tests.servers.documents import rss
from tests.servers.mastodon_instance import TOKEN, MastodonInstance
from tests.servers.picture_host import PictureHost
from tests.servers.services.discord import APP, Discord

pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("loopback_allowed"),
]

KINDS = ("bluesky", "discord", "matrix", "slack", "rocketchat", "ntfy", "webhook", "apprise", "telegram")


@pytest.fixture
def instance() -> Iterator[MastodonInstance]:
    with MastodonInstance() as server:
        yield server


@pytest.fixture
def desk(page: Any, site: str) -> Any:
    """Return a page with a signed-in admin."""
    if page.is_plain:
        pytest.skip("The admin's menus need scripts.")
    sign_in(page, site)
    return page


def test_a_bridge_is_added_tried_and_let_go(desk: Any, site: str, instance: MastodonInstance) -> None:
    feed = a_read_feed()
    desk.goto(f"{site}/admin/feeds/feed/{feed.pk}/change/")
    desk.get_by_role("link", name="Add a bridge").click()
    desk.get_by_role("heading", name="Choose a service").wait_for()
    look(desk, "bridge-services")
    desk.get_by_role("link", name="Mastodon").click()
    desk.wait_for_url("**kind=mastodon**")
    look(desk, "bridge-add")
    desk.fill("[name=mastodon_instance_url]", instance.url)
    desk.fill("[name=name]", "bees")
    desk.get_by_text("Or paste what you have").click()
    desk.fill("[name=mastodon_account]", "bot")
    desk.fill("[name=mastodon_access_token]", "wr0ng")
    desk.get_by_role("button", name="Connect with these").click()
    desk.get_by_text("accept it").wait_for()
    look(desk, "bridge-refused")
    assert not Subscribable.objects.exists()
    desk.fill("[name=mastodon_access_token]", TOKEN)
    desk.get_by_role("button", name="Connect with these").click()
    desk.wait_for_url("**/admin/bridge/bees/")
    desk.get_by_text("Connected as bot at").first.wait_for()
    assert desk.get_by_text("of 500 that Mastodon takes").count() == 3
    look(desk, "bridge-set-up")
    if desk.viewport_size["width"] < 640:
        desk.evaluate("scrollTo(0, 0)")
        done = desk.get_by_role("button", name="Done: post from now on").bounding_box()
        assert done["y"] + done["height"] <= desk.viewport_size["height"]
        if PICTURES:
            desk.screenshot(path=f"{PICTURES}/bridge-set-up-first-screen.png")
    assert instance.statuses == []
    # A changed template changes the preview, and nothing is posted.
    desk.fill("[name=mastodon_template]", "{nothing}")
    desk.get_by_role("button", name="Save, and show how it looks").click()
    desk.get_by_text("There is no {nothing}").wait_for()
    look(desk, "bridge-words-refused")
    desk.fill("[name=mastodon_template]", "Read “{title}”: {link}")
    desk.get_by_role("button", name="Save, and show how it looks").click()
    desk.get_by_text("Read “Post 0”").wait_for()
    desk.get_by_role("button", name="Post a test").click()
    desk.get_by_role("link", name="See the test post").wait_for()
    [status] = instance.statuses
    assert status["text"] == "Read “Post 0”: https://blog.example/p0"
    assert desk.get_by_role("link", name="See the test post").get_attribute("href") == status["url"]
    look(desk, "bridge-tested")
    desk.get_by_role("button", name="Delete the test").click()
    desk.get_by_text("The test post of").wait_for()
    assert instance.statuses == []
    # Back and forward repeat nothing.
    desk.go_back()
    desk.go_forward()
    assert len(instance.asked("/api/v1/statuses")) == 1
    desk.get_by_role("button", name="Done: post from now on").click()
    desk.get_by_text("posts what settles from now on").wait_for()
    look(desk, "bridge-done")
    assert not Subscribable.objects.get().stopped
    assert TOKEN not in desk.content()


def test_a_bridge_that_was_refused_is_connected_again(
    desk: Any, site: str, instance: MastodonInstance
) -> None:

    made = a_bridge(instance, stopped=False)
    Destination.objects.update(disabled_at=NOW, disabled_reason="The token was revoked.")
    desk.goto(f"{site}/admin/subscriptions/subscribable/{made.subscribable_id}/change/")
    look(desk, "bridge-disabled")
    desk.get_by_role("link", name="Connect again").click()
    desk.wait_for_url("**/connect/**")
    look(desk, "bridge-reconnect")
    assert desk.input_value("[name=mastodon_instance_url]") == instance.url
    desk.get_by_text("Or paste what you have").click()
    desk.fill("[name=mastodon_access_token]", TOKEN)
    desk.get_by_role("button", name="Connect again with these").click()
    desk.get_by_text("again.").wait_for()
    assert Destination.objects.get().disabled_at is None


def test_a_yes_at_the_instance_connects_and_a_no_loses_nothing(
    desk: Any, site: str, instance: MastodonInstance
) -> None:
    feed = a_read_feed()
    form = f"{site}/admin/add-bridge/?kind=mastodon&feed={feed.pk}"
    desk.goto(form)
    look(desk, "bridge-ask")
    desk.fill("[name=mastodon_instance_url]", instance.url)
    desk.fill("[name=name]", "bees")
    desk.get_by_role("button", name="Connect", exact=True).click()
    desk.get_by_role("heading", name="A Mastodon instance: may Feedletter post?").wait_for()
    # Back leads to the form, without a redirect loop.
    desk.go_back()
    desk.wait_for_url("**/admin/add-bridge/**")
    assert desk.input_value("[name=name]") == "bees"
    desk.get_by_role("button", name="Connect", exact=True).click()
    desk.get_by_role("link", name="No").click()
    desk.get_by_text("You declined access at 127.0.0.1").wait_for()
    look(desk, "bridge-said-no")
    assert desk.input_value("[name=name]") == "bees"
    desk.get_by_role("button", name="Connect", exact=True).click()
    desk.get_by_role("link", name="Yes").click()
    desk.wait_for_url("**/admin/bridge/bees/")
    desk.get_by_text("Connected as bot at").first.wait_for()
    desk.get_by_role("button", name="Post a test").click()
    desk.get_by_role("link", name="See the test post").wait_for()
    assert len(instance.statuses) == 1
    # Consent from another account needs a confirmation first.
    Destination.objects.update(disabled_at=NOW, disabled_reason="The token was revoked.")
    instance.account.update(id="777", acct="wasp")
    desk.reload()
    desk.get_by_role("link", name="Connect again").click()
    look(desk, "bridge-again")
    desk.get_by_text("Or paste what you have").click()
    desk.fill("[name=mastodon_account]", "wasp")
    desk.get_by_role("button", name="Connect again", exact=True).click()
    desk.get_by_role("link", name="Yes").click()
    desk.get_by_role("heading", name="That’s a different account").wait_for()
    look(desk, "bridge-another")
    desk.get_by_role("button", name="Post to wasp").click()
    desk.get_by_text("It posts to wasp at").first.wait_for()
    assert Destination.objects.get().disabled_at is None


def test_a_channel_of_discord_is_connected_by_an_application_of_ones_own(
    desk: Any, site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed = a_read_feed()
    with Discord() as discord:
        stand_in(monkeypatch, discord, "discord.com")
        desk.route("https://discord.com/**", lambda route: led_to(route, discord.url))
        desk.goto(f"{site}/admin/add-bridge/?kind=discord&feed={feed.pk}")
        look(desk, "bridge-discord")
        desk.get_by_role("link", name="add a Discord application").click()
        desk.get_by_text("discord.com/developers/applications").wait_for()
        shown = desk.locator("pre.fl-copy").inner_text()
        assert shown == f"{site}/admin/bridge-connected/"
        look(desk, "bridge-application")
        discord.consent.apps[APP.client_id].redirects.append(shown)
        desk.fill("[name=discord_app_client_id]", APP.client_id)
        desk.fill("[name=discord_app_client_secret]", APP.client_secret)
        desk.get_by_role("button", name="Save").click()
        desk.get_by_text("Now press Connect.").wait_for()
        desk.fill("[name=name]", "bees")
        look(desk, "bridge-discord-ask")
        desk.get_by_role("button", name="Connect", exact=True).click()
        desk.get_by_role("link", name="Yes").click()
        desk.get_by_text("Connected as Bees").first.wait_for()
        look(desk, "bridge-discord-set-up")
        assert APP.client_secret not in desk.content()


def test_how_its_posts_look_is_shown_for_each_service(desk: Any, site: str) -> None:
    secrets = {"apprise_url": "ntfys://ntfy.example/bees", "webhook_url": "https://hooks.example/x"}
    with PictureHost() as pictures:
        picture = pictures.drawn("/bee.png", size=(640, 360)).url
        feed = FeedFactory()
        words = f"<p>Bees dance to say <em>where</em> flowers are.</p><img src='{picture}' alt='A bee'>"
        posts = [
            {
                "guid": f"p{n}",
                "link": f"https://blog.example/p{n}",
                "title": f"Bees, part {n}",
                "content": words,
            }
            for n in range(2)
        ]
        headers = {"content-type": "application/rss+xml", "url": feed.url}
        FeedDocumentFactory(feed=feed, body=zlib.compress(rss(posts)), headers=headers)
        for kind in KINDS:
            bridge = SubscribableFactory(
                feeds=[feed], channel=kind, sign_up="closed", name=kind, stopped=True
            )
            to = DestinationFactory(kind=kind, core="a/b", label="bees", secrets=secrets)
            SubscriptionFactory(subscribable=bridge, destination=to)
            desk.goto(f"{site}/admin/bridge/{kind}/")
            desk.get_by_text("Bees, part 0").first.wait_for()
            desk.wait_for_load_state("networkidle")
            look(desk, f"looks-{kind}")


def led_to(route: Any, url: str) -> None:
    """Redirect a request for the service to the fake one."""
    path = route.request.url.split("discord.com", 1)[1]
    route.fulfill(status=302, headers={"Location": f"{url}{path}"})
