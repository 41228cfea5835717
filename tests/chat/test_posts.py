"""Posts of the bot: filtered, with a role that is mentioned once, and without any secret."""

import logging
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.apps import apps
from django.test import Client
from django.utils.feedgenerator import Rss201rev2Feed

from chat.interactions.work import answer_due
from delivery.bridges.corrections import take_corrections
from delivery.models import Lane
from subscriptions.models import Subscribable
from tests.chat.sites import serve_feed
from tests.chat.test_commands import add
from tests.chat.test_journey import Rounds, posted
from tests.servers.api_server import Reply
from tests.servers.feed_server import FeedServer
from tests.servers.services.discord import BOT_TOKEN, CHANNEL
from tests.servers.services.discord_client import DiscordClient, DiscordService

pytestmark = pytest.mark.django_db(transaction=True)
TITLES = ("Honey for all", "Sponsored honey", "**Wax** and `C++`", "Rain")
ROLE = "1600000000000000001"


def serve_titles(site: FeedServer, titles: tuple[str, ...], began: datetime, text: str = "") -> str:
    feed = Rss201rev2Feed("Bees", site.url("/"), "About bees")
    for number, title in reversed(list(enumerate(titles))):
        at = began + timedelta(minutes=number)
        feed.add_item(title, site.url(f"/{number}"), text or "Words.", unique_id=f"p{number}", pubdate=at)
    return site.serve("/feed.xml", feed.writeString("utf-8"), headers={"Content-Type": "application/rss+xml"})


@pytest.fixture
def rounds(ada: DiscordClient, site: FeedServer) -> Rounds:
    """Return rounds for a feed that was read and has no posts yet."""
    add(ada, serve_feed(site, posts=0))
    made = Rounds()
    made(2)
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keep", "drop", "wanted"),
    [
        ("", "", TITLES),
        ("honey", "", TITLES[:2]),
        ("", "spons*", (TITLES[0], *TITLES[2:])),
        ("honey wax", "sponsored", (TITLES[0], TITLES[2])),
        ("**Wax**", "", TITLES[2:3]),
        ("`C++`", "", TITLES[2:3]),
    ],
    ids=["none", "keep", "drop", "both", "markdown", "signs"],
)
def test_a_filter_takes_what_its_words_say(
    keep: str,
    drop: str,
    wanted: tuple[str, ...],
    service: DiscordService,
    ada: DiscordClient,
    site: FeedServer,
    rounds: Rounds,
) -> None:
    ada.command("feed filter", feed="1")
    ada.fill_in(keep=keep, drop=drop)
    serve_titles(site, TITLES, rounds.now)
    rounds(6)
    assert [title.replace("\\", "") for title in posted(service)] == list(wanted)


def called(service: DiscordService) -> list[list[str]]:
    """Return the roles that each request for a message may mention."""
    asked = [one for one in service.requests if one.method in ("POST", "PATCH") and "/channels/" in one.place]
    return [one.json["allowed_mentions"].get("roles", []) for one in asked]


@pytest.mark.slow
def test_a_role_is_called_once_and_never_by_an_edit_or_by_words_of_the_feed(
    service: DiscordService, ada: DiscordClient, site: FeedServer, rounds: Rounds
) -> None:
    ada.command("feed edit", feed="1")
    ada.choose(ROLE, menu="role")
    bridge = Subscribable.objects.get()
    Subscribable.objects.update(options={**bridge.options, "edit_corrected": "on"})
    began = rounds.now
    serve_titles(site, ("Bees <@&1700000000000000001> @everyone",), began, text="@here <@42> and more")
    rounds(6)
    [message] = service.messages
    assert called(service) == [[ROLE]]
    assert f"<@&{ROLE}>" in message["content"]
    shown = message["content"] + str(message["embeds"])
    assert "<@&1700000000000000001>" not in shown
    assert "@everyone" not in shown
    assert "@here" not in shown
    serve_titles(site, ("Wasps",), began)
    for _ in range(6):
        rounds(1)
        take_corrections(now=rounds.now)
    assert message["embeds"][0]["title"] == "Wasps"
    assert called(service) == [[ROLE], []]


def everything_kept() -> str:
    """Return all rows of all tables, as stored."""
    return str([list(model._default_manager.values_list()) for model in apps.get_models()])


@pytest.mark.slow
def test_no_token_is_in_logs_rows_or_the_admins_pages(
    service: DiscordService,
    ada: DiscordClient,
    site: FeedServer,
    rounds: Rounds,
    admin_client: Client,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    ada.command("feed preview", feed="1")
    token = ada.token
    answer = f"/api/v10/webhooks/{ada.service.interactions.application.id}/{token}/messages/@original"
    service.paths[answer] = Reply(500, {"message": f"{token} is not known"})
    answer_due()
    waiting = everything_kept()
    service.interactions.clock = lambda: rounds.now + timedelta(hours=1)
    del service.paths[answer]
    service.paths[f"/api/v10/channels/{CHANNEL}/messages"] = Reply(
        403, {"message": f"Bot {BOT_TOKEN} may not", "code": 50013}
    )
    serve_titles(site, TITLES[:1], rounds.now)
    rounds(6)
    assert "may not" in Lane.objects.get(refused_since__isnull=False).last_error
    pages = (
        "chat/guild/",
        "chat/guildfeed/",
        "chat/serveralert/",
        "delivery/delivery/",
        "delivery/lane/",
        "discord/",
    )
    shown: Any = [admin_client.get(f"/admin/{path}").content.decode() for path in pages]
    for place in (waiting, everything_kept(), caplog.text, str(shown)):
        assert BOT_TOKEN not in place
        assert token not in place
