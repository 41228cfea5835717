"""`/feed add`, for any content of a URL."""

import json
from typing import Any

import pytest

from chat.models import BotSettings, Guild, GuildFeed
from feeds.models import Feed
from tests.chat.sites import serve_feed, serve_page
from tests.chat.test_commands import add, some_feeds
from tests.servers.feed_server import FeedServer
from tests.servers.services.discord import GUILD
from tests.servers.services.discord_client import DiscordClient, DiscordService

pytestmark = pytest.mark.django_db


@pytest.mark.django_db(transaction=True)
def test_of_three_feeds_people_choose(ada: DiscordClient, site: FeedServer) -> None:
    paths = [f"/{name}.xml" for name in ("news", "talk", "all")]
    for path in paths:
        serve_feed(site, path, title=f"Feed {path}")
    assert "3 feeds were found" in add(ada, serve_page(site, *paths))
    [menu] = [part for row in ada.shown["components"] for part in row["components"]]
    assert [one["label"] for one in menu["options"]] == [f"Feed {path}" for path in paths]
    assert not GuildFeed.objects.exists()


def test_a_choice_that_is_no_longer_known_fails_kindly(ada: DiscordClient) -> None:
    assert ada.send(3, {"custom_id": "v1:pick:5", "component_type": 3, "values": ["0"]})["type"] == 4
    assert "request has expired" in ada.said


@pytest.mark.django_db(transaction=True)
def test_a_json_feed_is_a_feed(ada: DiscordClient, site: FeedServer) -> None:
    item = {"id": "1", "url": site.url("/1"), "title": "Post 1", "content_text": "Bees"}
    feed = {"version": "https://jsonfeed.org/version/1.1", "title": "Bees", "items": [item]}
    url = site.serve("/feed.json", json.dumps(feed), headers={"Content-Type": "application/feed+json"})
    said = add(ada, url)
    assert "will now be posted in" in said
    assert "Post 1" in said


@pytest.mark.django_db(transaction=True)
def test_a_document_beyond_five_megabytes_is_told_of(ada: DiscordClient, site: FeedServer) -> None:
    large = b"<rss version='2.0'><channel><title>Bees</title>" + b"<!-- bees -->" * 500_000
    url = site.serve("/feed.xml", large, headers={"Content-Type": "application/rss+xml"})
    assert len(large) > 6_000_000
    assert "will now be posted in" not in add(ada, url)
    assert not Feed.objects.exists()


def test_the_chosen_channels_permissions_count(
    service: DiscordService, ada: DiscordClient, site: FeedServer
) -> None:
    """The channel of the option, not the one that people are in."""
    data = ada._command("feed add", {"url": serve_feed(site), "channel": "1200000000000000007"})
    data["resolved"]["channels"]["1200000000000000007"]["app_permissions"] = str(1 << 10 | 1 << 14)
    assert ada.send(2, data)["type"] == 4
    assert "<#1200000000000000007>" in ada.said
    assert ada.said.endswith("Send Messages.")
    assert not Guild.objects.filter(guild_feeds__isnull=False).exists()


def test_in_a_thread_another_permission_counts(ada: DiscordClient, site: FeedServer) -> None:
    ada.channel_type, ada.app_permissions = 11, str(1 << 10 | 1 << 11 | 1 << 14)
    assert ada.command("feed add", url=serve_feed(site))["type"] == 4
    assert ada.said.endswith("Send Messages in Threads.")


@pytest.mark.django_db(transaction=True)
def test_all_servers_together_have_so_many_feeds(
    service: DiscordService, ada: DiscordClient, site: FeedServer
) -> None:
    BotSettings.objects.create(pk=1, feeds_in_all=1)
    first = serve_feed(site)
    add(ada, first)
    assert "maximum number of feeds" in add(ada, serve_feed(site, "/other.xml"))
    assert Feed.objects.count() == 1
    # The feed of another server exists already, and is not added anew.
    service.channels["1200000000000000009"] = "701"
    bob = DiscordClient(service, guild="701", channel="1200000000000000009", person="43")
    assert "will now be posted in" in add(bob, first)


@pytest.mark.parametrize(("act", "times"), [("preview", 30), ("test", 5)])
def test_what_asks_others_has_a_limit_an_hour(act: str, times: int, ada: DiscordClient) -> None:
    some_feeds(1)
    for number in range(times + 1):
        ada.person = str(1000 + number)
        answer: dict[str, Any] = ada.command(f"feed {act}", feed="1")
        assert answer["type"] == (5 if number < times else 4)
    assert f"{times} times an hour" in ada.said


def test_a_banned_server_is_told_so(ada: DiscordClient) -> None:
    ada.command("feed list")
    Guild.objects.filter(pk=int(GUILD)).update(banned_at="2026-03-01T00:00Z")
    ada.command("feed add", url="blog.example")
    assert "has blocked this server" in ada.said
