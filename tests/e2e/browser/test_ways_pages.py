"""A newsletter's page with every way to get it."""

from typing import Any

import pytest

from common.ports import ways
from common.ports.ways import AskedFirst, Way
from tests.e2e.browser.screens import look_at
from tests.factories import (
    BridgeFactory,
    DestinationFactory,
    FeedFactory,
    SubscribableFactory,
    SubscriptionFactory,
    an_issue,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def fediverse(newsletter: Any) -> list[Way]:
    form = AskedFirst(
        title="Open in your server",
        action=f"/s/{newsletter.name}/",
        name="server",
        label="Your server",
        button="Open",
        placeholder="mastodon.example",
    )
    return [
        Way(
            icon="fediverse",
            title="Fediverse",
            sentence="Follow this account in Mastodon and similar apps:",
            copied=f"@{newsletter.name}@letters.example.org",
            form=form,
            rank=30,
        )
    ]


@pytest.fixture
def valley(db: None, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(ways, "sources", [*ways.sources, fediverse])
    feed = FeedFactory(title="Valley notes")
    letter = SubscribableFactory(
        name="valley", title="Notes from the valley", feeds=[feed], offers_devices=True, arrangement="weekly"
    )
    an_issue(subscribable=letter)
    SubscribableFactory(name="valley-daily", title="The valley, daily", feeds=[feed], arrangement="daily")
    for kind, config, options in (
        ("bluesky", {"handle": "valley.example"}, {}),
        ("discord", {}, {"invitation": "https://discord.gg/valley"}),
        ("telegram", {}, {"invitation": "https://t.me/valley"}),
    ):
        bridge = BridgeFactory(channel=kind, feeds=[feed], options=options)
        SubscriptionFactory(subscribable=bridge, destination=DestinationFactory(kind=kind, config=config))
    return letter


def test_a_newsletters_page_offers_all_ways(page: Any, site: str, valley: Any) -> None:
    page.goto(f"{site}/s/valley/")
    offered = page.locator(".ways")
    for name in ("RSS", "Add to your reader", "Bluesky", "Discord", "Telegram", "The valley, daily"):
        assert offered.get_by_role("link", name=name).is_visible()
    assert offered.locator("svg.icon").count() == 8
    assert page.locator(".button:not(.quiet)").count() == 1
    look_at(page, "ways")
    offered.get_by_text("Open in your server").click()
    look_at(page, "ways-server")
    offered.get_by_label("Your server").fill("mastodon.example")
    offered.get_by_role("button", name="Open").click()
    page.wait_for_url("**/?server=mastodon.example")
