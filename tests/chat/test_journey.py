"""The whole bot on loopback: add a home page, pick, get a new post, filter, digest, why, remove.

Posts of the bot: filtered, with a role that is mentioned once, and without any secret.
"""

import logging
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.apps import apps
from django.test import Client
from django.utils.feedgenerator import Rss201rev2Feed

from chat.alerts.post import note_troubles, post_alerts
from chat.guilds.feeds import post_first
from chat.interactions.work import answer_due
from chat.models import BotFeed, Guild, GuildFeed, Interaction
from common.clock import utcnow
from delivery.bridges.corrections import take_corrections
from delivery.engine.send_pass import send_due
from delivery.issues.complete import complete_due
from delivery.models import Delivery, Lane
from feeds.models import Feed
from feeds.polling.poll import poll_due
from subscriptions.collections.assign import assign_final
from subscriptions.models import Subscribable, Subscription
from tests.chat.sites import serve_feed, serve_page
from tests.chat.test_commands import add
from tests.delivery.ledger import Clock
from tests.servers.api_server import Reply
from tests.servers.feed_server import FeedServer
from tests.servers.services.discord import BOT_TOKEN, CHANNEL, GUILD
from tests.servers.services.discord_client import DiscordClient, DiscordService

pytestmark = pytest.mark.django_db(transaction=True)
TITLES = ("Honey for all", "Sponsored honey", "**Wax** and `C++`", "Rain")
ROLE = "1600000000000000001"


def run_until(moment: datetime) -> None:
    """Run all stages once at that time."""
    clock = Clock(moment)
    poll_due(clock=clock)
    assign_final(clock=clock)
    complete_due(clock=clock)
    for _ in range(4):
        send_due(clock=clock)
        clock.now += timedelta(seconds=3)


class Rounds:
    """Rounds of all stages, ten minutes apart."""

    def __init__(self) -> None:
        self.now = utcnow()

    def __call__(self, count: int) -> None:
        for _ in range(count):
            run_until(self.now)
            self.now += timedelta(minutes=10)


@pytest.fixture
def rounds() -> Rounds:
    return Rounds()


def posted(service: DiscordService) -> list[str]:
    return [card["title"] for message in service.messages for card in message["embeds"]]


def test_a_home_page_with_two_feeds_becomes_a_feed_in_the_channel(
    service: DiscordService, ada: DiscordClient, site: FeedServer, rounds: Rounds
) -> None:
    serve_feed(site, "/news.xml", title="News of bees")
    serve_feed(site, "/talk.xml", title="Talk of bees")
    home = serve_page(site, "/news.xml", "/talk.xml")

    assert ada.command("feed add", url=home)["type"] == 5
    assert answer_due() == 1
    assert "2 feeds were found" in ada.said
    assert ada.choose("0")["type"] == 6
    assert answer_due() == 1
    assert "will now be posted in <#" in ada.said
    one = GuildFeed.objects.get()
    assert (one.guild_id, one.number, one.channel_id) == (int(GUILD), 1, int(CHANNEL))
    assert one.subscribable.name == f"discord-{GUILD}-1"
    assert one.subscribable.visibility == Subscribable.Visibility.PRIVATE

    rounds(2)
    assert posted(service) == []
    began = rounds.now
    serve_feed(site, "/news.xml", posts=4, title="News of bees", began=began - timedelta(hours=4))
    rounds(5)
    assert posted(service) == ["Post 4"]

    assert "posted <t:" in why(ada)
    ada.command("feed filter", feed="1")
    ada.fill_in(keep='honey "queen bee"', drop="sponsor*")
    assert "only posts what contains one of" in ada.said
    serve_feed(site, "/news.xml", posts=5, title="News of bees", began=began - timedelta(hours=5))
    rounds(6)
    assert posted(service) == ["Post 4"]
    assert "left out" in why(ada)

    ada.command("feed digest", feed="1", when="daily", hour="8", zone="Europe/Berlin")
    bridge = Subscribable.objects.get()
    assert (bridge.arrangement, bridge.time_zone, bridge.at.hour) == ("daily", "Europe/Berlin", 8)

    ada.command("feed remove", feed="1")
    ada.press("Remove")
    assert "was removed" in ada.said
    assert not GuildFeed.objects.present().exists()
    assert Feed.objects.get().status == Feed.Status.STOPPED
    assert Subscription.objects.get().status == Subscription.Status.UNSUBSCRIBED
    assert BotFeed.objects.get().unused_since is not None


def why(client: DiscordClient) -> str:
    client.command("feed why", feed="1")
    return client.said


def add_to(client: DiscordClient, url: str, **options: Any) -> str:
    assert client.command("feed add", url=url, **options)["type"] == 5
    answer_due()
    return client.said


def test_two_servers_with_the_same_feed_poll_it_once(
    service: DiscordService, ada: DiscordClient, site: FeedServer
) -> None:
    url = serve_feed(site)
    service.channels["1200000000000000009"] = "701"
    bob = DiscordClient(service, guild="701", channel="1200000000000000009", person="43")
    assert "will now be posted in" in add_to(ada, url)
    assert "will now be posted in" in add_to(bob, url)
    assert Feed.objects.count() == 1
    assert GuildFeed.objects.count() == 2
    before = len(site.requests)
    poll_due(clock=Clock(utcnow()))
    assert len(site.requests) == before + 1


def test_an_operators_own_feed_stays_the_operators(ada: DiscordClient, site: FeedServer) -> None:
    url = serve_feed(site)
    Feed.objects.create(url=url, host=url.split("/")[2])
    add_to(ada, url)
    assert Feed.objects.count() == 2


def test_the_same_feed_goes_into_a_second_channel_and_not_twice_into_one(
    service: DiscordService, ada: DiscordClient, site: FeedServer
) -> None:
    url = serve_feed(site)
    service.channels["1200000000000000007"] = GUILD
    add_to(ada, url)
    assert "already" in add_to(ada, url)
    assert "will now be posted in <#1200000000000000007>" in add_to(ada, url, channel="1200000000000000007")
    assert [one.number for one in GuildFeed.objects.order_by("pk")] == [1, 2]


@pytest.mark.parametrize(
    ("start", "titles"), [("0", []), ("1", ["Post 4"]), ("3", ["Post 2", "Post 3", "Post 4"])]
)
def test_it_begins_with_so_many_of_the_newest_posts_in_their_order(
    start: str, titles: list[str], service: DiscordService, ada: DiscordClient, site: FeedServer
) -> None:
    add_to(ada, serve_feed(site, posts=4), start=start)
    poll_due(clock=Clock(utcnow()))
    assert post_first(now=utcnow()) == len(titles)
    assert posted(service) == titles
    assert post_first(now=utcnow()) == 0
    assert len(Delivery.objects.filter(kind=Delivery.Kind.TEST)) == len(titles)


def test_a_worker_that_died_after_the_work_left_its_answer(
    service: DiscordService, ada: DiscordClient, site: FeedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the adding and the response: the next worker responds, and adds nothing again."""
    url = serve_feed(site)
    ada.command("feed add", url=url)

    def dies(*_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr("chat.interactions.work.answer_later", dies)
        with pytest.raises(SystemExit):
            answer_due()
    assert GuildFeed.objects.count() == 1
    assert answer_due() == 0
    assert answer_due(clock=Clock(utcnow() + timedelta(minutes=2))) == 1
    assert "will now be posted in" in ada.said
    assert GuildFeed.objects.count() == 1


def test_an_answer_that_comes_before_discord_knows_of_it_is_given_again(
    service: DiscordService, ada: DiscordClient, site: FeedServer
) -> None:
    service.not_yet = 2
    clock = Clock(utcnow())
    ada.command("feed add", url=serve_feed(site))
    assert [answer_due(clock=clock) for _ in range(2)] == [0, 0]
    for _ in range(3):
        clock.now += timedelta(seconds=2)
        answer_due(clock=clock)
    assert "will now be posted in" in ada.said


def test_an_expired_token_ends_it_and_the_feed_is_there(
    service: DiscordService, ada: DiscordClient, site: FeedServer
) -> None:
    ada.command("feed add", url=serve_feed(site))
    service.interactions.clock = lambda: utcnow() + timedelta(minutes=16)
    answer_due()
    row = Interaction.objects.get()
    assert row.state == Interaction.State.DONE
    assert ada.token not in str(vars(row))
    assert GuildFeed.objects.count() == 1


@pytest.mark.django_db
def test_three_seconds_are_kept_whatever_a_site_does(ada: DiscordClient, site: FeedServer) -> None:
    """The client itself fails the test if a response takes longer."""
    dripping = site.serve("/slow", b"<html>" + b" " * 500, drip=1.0)
    assert ada.command("feed add", url=dripping)["type"] == 5
    assert ada.command("feed list")["type"] == 4


def test_the_same_interaction_does_nothing_twice(ada: DiscordClient, site: FeedServer) -> None:
    add_to(ada, serve_feed(site))
    options = {"name": "pause", "type": 1, "options": [{"name": "feed", "type": 3, "value": "1"}]}
    data = {"id": "80", "name": "feed", "type": 1, "options": [options]}
    ada.send(2, data, number="1500000000000000000")
    assert "is paused" in ada.said
    ada.command("feed resume", feed="1")
    ada.send(2, data, number="1500000000000000000")
    assert "already answered" in ada.said
    assert not Subscribable.objects.get().stopped


def test_a_server_that_removed_the_bot_is_noticed(
    service: DiscordService, ada: DiscordClient, site: FeedServer, rounds: Rounds
) -> None:
    add_to(ada, serve_feed(site), start="0")
    del service.portal.known.guilds[GUILD]
    service.channels.clear()
    rounds(2)
    serve_feed(site, posts=4, began=rounds.now - timedelta(hours=4))
    rounds(5)
    before = len(service.requests)
    later = utcnow() + timedelta(hours=2)
    assert note_troubles(now=later) == 1
    post_alerts(clock=Clock(later))
    guild = Guild.objects.get()
    assert guild.removed_at is not None
    assert not GuildFeed.objects.present().exists()
    assert [request.place for request in service.requests[before:]] == [f"/api/v10/guilds/{GUILD}"]


def serve_titles(site: FeedServer, titles: tuple[str, ...], began: datetime, text: str = "") -> str:
    feed = Rss201rev2Feed("Bees", site.url("/"), "About bees")
    for number, title in reversed(list(enumerate(titles))):
        at = began + timedelta(minutes=number)
        feed.add_item(title, site.url(f"/{number}"), text or "Words.", unique_id=f"p{number}", pubdate=at)
    return site.serve("/feed.xml", feed.writeString("utf-8"), headers={"Content-Type": "application/rss+xml"})


@pytest.fixture
def post_rounds(ada: DiscordClient, site: FeedServer) -> Rounds:
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
    post_rounds: Rounds,
) -> None:
    ada.command("feed filter", feed="1")
    ada.fill_in(keep=keep, drop=drop)
    serve_titles(site, TITLES, post_rounds.now)
    post_rounds(6)
    assert [title.replace("\\", "") for title in posted(service)] == list(wanted)


def called(service: DiscordService) -> list[list[str]]:
    """Return the roles that each request for a message may mention."""
    asked = [one for one in service.requests if one.method in ("POST", "PATCH") and "/channels/" in one.place]
    return [one.json["allowed_mentions"].get("roles", []) for one in asked]


@pytest.mark.slow
def test_a_role_is_called_once_and_never_by_an_edit_or_by_words_of_the_feed(
    service: DiscordService, ada: DiscordClient, site: FeedServer, post_rounds: Rounds
) -> None:
    ada.command("feed edit", feed="1")
    ada.choose(ROLE, menu="role")
    bridge = Subscribable.objects.get()
    Subscribable.objects.update(options={**bridge.options, "edit_corrected": "on"})
    began = post_rounds.now
    serve_titles(site, ("Bees <@&1700000000000000001> @everyone",), began, text="@here <@42> and more")
    post_rounds(6)
    [message] = service.messages
    assert called(service) == [[ROLE]]
    assert f"<@&{ROLE}>" in message["content"]
    shown = message["content"] + str(message["embeds"])
    assert "<@&1700000000000000001>" not in shown
    assert "@everyone" not in shown
    assert "@here" not in shown
    serve_titles(site, ("Wasps",), began)
    for _ in range(6):
        post_rounds(1)
        take_corrections(now=post_rounds.now)
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
    post_rounds: Rounds,
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
    service.interactions.clock = lambda: post_rounds.now + timedelta(hours=1)
    del service.paths[answer]
    service.paths[f"/api/v10/channels/{CHANNEL}/messages"] = Reply(
        403, {"message": f"Bot {BOT_TOKEN} may not", "code": 50013}
    )
    serve_titles(site, TITLES[:1], post_rounds.now)
    post_rounds(6)
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
