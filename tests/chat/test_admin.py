"""The admin's pages of the Discord bot."""

from typing import Any

import pytest
from django.test import Client

from chat.models import BotFeed, BotSettings, Guild, GuildFeed
from subscriptions.models import Subscribable
from tests.factories import FeedFactory
from tests.servers.services.discord_client import DiscordService

pytestmark = pytest.mark.django_db


@pytest.fixture
def one() -> GuildFeed:
    guild = Guild.objects.create(pk=700, name="Bee keepers")
    bridge = Subscribable.objects.create(
        name="discord-700-1", title="Bees of a server", channel="discord_bot"
    )
    feed = FeedFactory()
    BotFeed.objects.create(feed=feed)
    facts = {"number": 1, "channel_id": 1, "added_by": 42, "interaction_id": 1}
    made: GuildFeed = GuildFeed.objects.create(guild=guild, subscribable=bridge, feed=feed, **facts)
    return made


def page(client: Client, path: str) -> str:
    response = client.get(path)
    assert response.status_code == 200, path
    return str(response.content.decode())


def test_the_page_leads_through_the_set_up(admin_client: Client, settings: Any) -> None:
    settings.DISCORD_PUBLIC_KEY = settings.DISCORD_BOT_TOKEN = ""
    shown = page(admin_client, "/admin/discord/")
    assert "Set DISCORD_PUBLIC_KEY, DISCORD_BOT_TOKEN" in shown
    assert "Invite the bot" not in shown


def test_its_button_tells_discord(admin_client: Client, service: DiscordService) -> None:
    admin_client.post("/admin/discord/", {"act": "register"})
    assert service.portal.known.application["interactions_endpoint_url"].endswith("/discord/interactions/")
    shown = page(admin_client, "/admin/discord/")
    assert "oauth2/authorize" in shown
    assert "MTA.bot-token" not in shown


def test_limits_are_saved(admin_client: Client) -> None:
    fields = {
        "act": "save",
        "feeds_per_guild": "7",
        "feeds_in_all": "100",
        "posts_a_day": "50",
        "shortest_interval": "5",
        "only_allowed": "on",
    }
    admin_client.post("/admin/discord/", {**fields, "denied_hosts": "ads.example"})
    row = BotSettings.objects.get()
    assert (row.pk, row.feeds_per_guild, row.shortest_interval, row.only_allowed) == (1, 7, 5, True)
    assert row.denies("x.ads.example:8080")
    assert not row.denies("bads.example")


def test_bridges_of_servers_are_hidden_in_the_list_unless_asked_for(
    admin_client: Client, one: GuildFeed
) -> None:
    lists = "/admin/subscriptions/subscribable/"
    assert "Bees of a server" not in page(admin_client, lists)
    assert "Bees of a server" in page(admin_client, f"{lists}?servers=only")
    assert "Bees of a server" in page(admin_client, f"{lists}?servers=all")


def test_lists_and_pages_of_servers(admin_client: Client, one: GuildFeed) -> None:
    for path in ("guild", "guildfeed", "serveralert"):
        page(admin_client, f"/admin/chat/{path}/")
    assert "Bees of a server" in page(admin_client, f"/admin/chat/guild/{one.guild_id}/change/")
    assert "Bee keepers" in page(admin_client, f"/admin/chat/guildfeed/{one.pk}/change/")


def test_a_banned_server_has_no_feeds_any_more(admin_client: Client, one: GuildFeed) -> None:
    data = {"action": "ban", "_selected_action": [one.guild_id], "confirmed": "1"}
    admin_client.post("/admin/chat/guild/", data)
    assert Guild.objects.get().banned_at is not None
    assert not GuildFeed.objects.present().exists()


def test_an_operators_own_feed_may_be_lent(admin_client: Client, one: GuildFeed) -> None:
    open_one, secret = FeedFactory(), FeedFactory(credentials={"user": "ada", "password": "x"})
    data = {"action": "lend", "_selected_action": [open_one.pk, secret.pk]}
    admin_client.post("/admin/feeds/feed/", data)
    assert list(BotFeed.objects.filter(is_operators=True).values_list("feed", flat=True)) == [open_one.pk]
