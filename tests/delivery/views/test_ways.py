"""Other ways to get a newsletter than its form."""

import re
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.test import Client

from common.ports import channels, ways
from common.ports.ways import AskedFirst, Way
from delivery.views.ways import icon
from tests.factories import (
    BridgeFactory,
    DestinationFactory,
    FeedFactory,
    SubscribableFactory,
    SubscriptionFactory,
)

pytestmark = pytest.mark.django_db


def offered(client: Client, name: str = "weekly") -> dict[str, str]:
    page = BeautifulSoup(client.get(f"/s/{name}/").content, "html.parser")
    return {link.get_text(): str(link["href"]) for link in page.select(".ways h3 a")}


def a_bridge(kind: str, *, feeds: Any, config: dict[str, str], **facts: Any) -> Any:
    bridge = BridgeFactory(channel=kind, feeds=feeds, **facts)
    place = DestinationFactory(kind=kind, core=f"{kind}{bridge.pk}", config=config)
    return SubscriptionFactory(subscribable=bridge, destination=place)


@pytest.mark.needs("reader")
def test_every_newsletter_has_its_feed_for_other_readers_and_for_ours(client: Client, settings: Any) -> None:
    settings.SITE_URL = "https://letters.example.org"
    SubscribableFactory(name="weekly", sign_up="closed")
    feed = "https://letters.example.org/s/weekly/feed.xml"
    follow = "/reader/follow/?url=https%3A%2F%2Fletters.example.org%2Fs%2Fweekly%2Ffeed.xml"
    assert list(offered(client).items()) == [("RSS", feed), ("Add to your reader", follow)]


@pytest.mark.parametrize(
    ("kind", "config", "options", "url"),
    [
        ("bluesky", {"handle": "bees.example"}, {}, "https://bsky.app/profile/bees.example"),
        (
            "mastodon",
            {"instance_url": "https://m.example", "account": "x", "account_name": "bees"},
            {},
            "https://m.example/@bees",
        ),
        ("mastodon", {"instance_url": "https://m.example", "account": "nickname"}, {}, None),
        ("discord", {}, {}, None),
        ("discord", {}, {"invitation": "https://discord.gg/bees"}, "https://discord.gg/bees"),
        ("bluesky", {"handle": "bees.example"}, {"invitation": "https://b.example/"}, "https://b.example/"),
    ],
)
def test_a_bridge_with_the_same_feeds_is_a_way_if_anybody_can_follow_it(
    client: Client, kind: str, config: dict[str, str], options: dict[str, str], url: str | None
) -> None:
    feed = FeedFactory()
    SubscribableFactory(name="weekly", feeds=[feed])
    a_bridge(kind, feeds=[feed], config=config, options=options)
    assert offered(client).get(channels.get(kind).label) == url


def test_other_bridges_are_no_ways(client: Client) -> None:
    feed, config = FeedFactory(), {"handle": "bees.example"}
    SubscribableFactory(name="weekly", feeds=[feed])
    SubscribableFactory(name="written")
    a_bridge("bluesky", feeds=[feed, FeedFactory()], config=config)
    a_bridge("bluesky", feeds=[], config=config)
    a_bridge("bluesky", feeds=[feed], config=config, stopped=True)
    ended = a_bridge("bluesky", feeds=[feed], config=config)
    ended.destination.disabled_at = ended.confirmed_at
    ended.destination.save()
    assert "Bluesky" not in offered(client) | offered(client, "written")


def test_an_invitation_is_a_web_address() -> None:
    kind = channels.get("discord")
    for typed in ("javascript:alert(1)", "discord.gg/bees", "https://x y", "https://" + "x" * 5000):
        with pytest.raises(channels.InvalidDestination, match="invitation: an address begins"):
            kind.parse_options({"invitation": typed})


def test_other_apps_add_ways_which_are_escaped(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    form = AskedFirst(title="<b>", action='"><b>', name="server", label="<b>", button="<b>")
    way = Way(icon="fediverse", title="<b>", sentence="<b>", copied="<b>", form=form, rank=1)
    monkeypatch.setattr(ways, "sources", [*ways.sources, lambda newsletter: [way]])
    SubscribableFactory(name="weekly")
    page = client.get("/s/weekly/").content.decode()
    assert "<b>" not in page
    assert page.index("&lt;b&gt;") < page.index(">RSS<")


def test_each_way_has_a_drawing() -> None:
    kinds = {kind.key for kind in channels.bridge_kinds()}
    for key in {"email", "device", "rss", "reader", "fediverse"} | kinds:
        assert re.match("<svg class=", icon(key)), key
    assert icon("nothing") == ""
