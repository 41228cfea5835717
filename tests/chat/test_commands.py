"""Each command: permission, output, and errors."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chat.commands.definitions import commands
from chat.interactions.work import answer_due
from chat.models import BotSettings, Guild, GuildFeed, Interaction
from common.clock import utcnow
from feeds.models import Feed
from feeds.polling.poll import poll_due
from subscriptions.models import Subscribable
from tests.chat.sites import serve_feed, serve_page
from tests.delivery.ledger import Clock
from tests.factories import NOW, FeedFactory
from tests.servers.feed_server import FeedServer
from tests.servers.services.discord import CHANNEL, FORUM, GUILD
from tests.servers.services.discord_client import APPLICATION, DiscordClient, DiscordService

pytestmark = pytest.mark.django_db
OTHER_CHANNEL = "1200000000000000007"
MANY = " ".join(f"word{number}" for number in range(51))


def add(client: DiscordClient, url: str, **options: Any) -> str:
    client.command("feed add", url=url, **options)
    answer_due()
    return client.said


def some_feeds(count: int, *, guild: int = int(GUILD), title: str = "Blog") -> Guild:
    """Create rows as adding does, without requests."""
    row, _ = Guild.objects.get_or_create(pk=guild)
    feed = FeedFactory()
    bridges = Subscribable.objects.bulk_create(
        Subscribable(name=f"discord-{guild}-{number}", title=f"{title} {number}", channel="discord_bot")
        for number in range(1, count + 1)
    )
    GuildFeed.objects.bulk_create(
        GuildFeed(
            guild=row,
            number=number,
            subscribable=bridge,
            feed=feed,
            channel_id=number,
            added_by=42,
            interaction_id=number,
        )
        for number, bridge in enumerate(bridges, 1)
    )
    return row


def test_all_feeds_are_paused_and_resumed_at_once(ada: DiscordClient) -> None:
    some_feeds(3)
    some_feeds(1, guild=701)
    ada.command("feed pause", feed="2")
    ada.command("feed pause", feed="all")
    assert "2 feeds are paused" in ada.said
    assert [one.stopped for one in Subscribable.objects.order_by("pk")] == [True, True, True, False]
    ada.command("feed resume", feed="All")
    assert "3 feeds are resumed" in ada.said
    assert not Subscribable.objects.filter(stopped=True).exists()


def test_all_feeds_are_offered_where_a_command_takes_them(ada: DiscordClient) -> None:
    some_feeds(30)
    assert ada.typing("feed pause", "feed", "")[-1] == {"name": "All feeds", "value": "all"}
    assert ada.typing("feed resume", "feed", "al")[-1]["value"] == "all"
    assert ada.typing("feed resume", "feed", "Blog 3")[-1]["value"] != "all"
    assert "all" not in [one["value"] for one in ada.typing("feed remove", "feed", "")]


def test_all_is_a_feed_where_a_command_takes_one(ada: DiscordClient) -> None:
    some_feeds(2)
    ada.command("feed remove", feed="all")
    assert "have that feed" in ada.said


@pytest.mark.parametrize(
    ("minutes", "words"), [(1, "every minute"), (10, "every 10 minutes"), (180, "every 3 hours")]
)
def test_the_list_says_how_often_a_feed_is_read(minutes: int, words: str, ada: DiscordClient) -> None:
    some_feeds(1)
    Feed.objects.update(last_polled_at=NOW, next_poll_at=NOW + timedelta(minutes=minutes))
    ada.command("feed list")
    assert f"is checked {words}" in ada.said


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", [2, 13])
def test_voice_and_stage_channels_are_taken_by_option_as_by_here(
    kind: int, service: DiscordService, ada: DiscordClient, site: FeedServer
) -> None:
    service.channel_type = ada.channel_type = kind
    service.channels[OTHER_CHANNEL] = GUILD
    url = serve_feed(site)
    assert "will now be posted in" in add(ada, url)
    assert "will now be posted in" in add(ada, url, channel=OTHER_CHANNEL)
    [add_command] = [one for one in commands()[0]["options"] if one["name"] == "add"]
    [channel] = [one for one in add_command["options"] if one["name"] == "channel"]
    assert kind in channel["channel_types"]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("", "isn’t the address of a site"),
        ("mailto:a@b.example", "isn’t the address of a site"),
        ("https://ada:secret@blog.example/feed", "user name and password"),
        ("https://www.denied.example/feed", "has blocked that site"),
    ],
)
def test_what_cannot_be_added_is_refused_at_once(typed: str, said: str, ada: DiscordClient) -> None:
    BotSettings.objects.create(pk=1, denied_hosts="denied.example")
    assert ada.command("feed add", url=typed)["type"] == 4
    assert said in ada.said
    assert not Feed.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_page_without_a_feed_says_so(ada: DiscordClient, site: FeedServer) -> None:
    assert "No feed was found" in add(ada, serve_page(site))


@pytest.mark.django_db(transaction=True)
def test_a_page_with_one_feed_adds_it(ada: DiscordClient, site: FeedServer) -> None:
    serve_feed(site, "/news.xml")
    said = add(ada, serve_page(site, "/news.xml"))
    assert "will now be posted in" in said
    assert "Post 3" in said


@pytest.mark.django_db(transaction=True)
def test_a_private_address_is_not_read(ada: DiscordClient, site: FeedServer) -> None:
    """Discord's fake is on loopback, so this uses another private network."""
    assert "couldn’t be fetched" in add(ada, "http://10.1.2.3/feed")
    assert "couldn’t be fetched" in add(ada, site.redirect("/away", "http://10.1.2.3/feed"))
    assert not GuildFeed.objects.exists()


def test_a_channel_without_permission_leaves_no_row(ada: DiscordClient, site: FeedServer) -> None:
    ada.app_permissions = str(1 << 10)
    assert ada.command("feed add", url=serve_feed(site))["type"] == 4
    assert "Send Messages, Embed Links" in ada.said
    assert not GuildFeed.objects.exists()
    assert not Feed.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_channel_that_discord_does_not_know_leaves_no_row(
    service: DiscordService, ada: DiscordClient, site: FeedServer
) -> None:
    service.channels.clear()
    assert "Unknown Channel" in add(ada, serve_feed(site))
    assert not GuildFeed.objects.exists()
    assert not Feed.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_channel_of_another_server_is_refused(
    service: DiscordService, ada: DiscordClient, site: FeedServer
) -> None:
    service.channels[CHANNEL] = "999"
    assert "isn’t in this server" in add(ada, serve_feed(site))
    assert not GuildFeed.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_server_has_so_many_feeds(ada: DiscordClient, site: FeedServer) -> None:
    BotSettings.objects.create(pk=1, feeds_per_guild=1)
    add(ada, serve_feed(site))
    assert "reached its maximum" in add(ada, serve_feed(site, "/other.xml"))
    Guild.objects.update(feed_limit=2)
    assert "will now be posted in" in add(ada, serve_feed(site, "/other.xml"))


def test_only_allowed_servers_where_the_operator_says_so(ada: DiscordClient, site: FeedServer) -> None:
    BotSettings.objects.create(pk=1, only_allowed=True)
    ada.command("feed list")
    assert f"approve number {GUILD}" in ada.said
    Guild.objects.update(is_allowed=True)
    ada.command("feed list")
    assert "no feeds yet" in ada.said


def test_a_person_in_haste_is_asked_to_wait(ada: DiscordClient) -> None:
    for _ in range(20):
        ada.command("feed list")
        assert "no feeds yet" in ada.said
    ada.command("feed list")
    assert "in a minute" in ada.said


def test_a_server_adds_ten_feeds_an_hour(ada: DiscordClient) -> None:
    for number in range(11):
        ada.person = str(1000 + number)
        ada.command("feed add", url="blog.example")
    assert "10 times an hour" in ada.said


def test_pages_of_two_hundred_feeds(ada: DiscordClient) -> None:
    some_feeds(200)
    ada.command("feed list")
    assert "Blog 10" in ada.said
    ada.press("▶ 2/20")
    assert "Blog 20" in ada.said
    assert ada.last["type"] == 7


def test_choices_of_five_hundred_feeds_are_25_in_one_query(ada: DiscordClient) -> None:
    some_feeds(500, title="Blog @everyone `x`")
    with CaptureQueriesContext(connection) as asked:
        found = ada.typing("feed why", "feed", "every")
    assert len(asked) == 1
    assert len(found) == 25
    assert found[0] == {"name": "1 · Blog @everyone `x` 1", "value": "1"}
    assert [one["value"] for one in ada.typing("feed why", "feed", "499")] == ["499"]
    assert ada.typing("feed why", "feed", "nothing such") == []


def test_a_feed_of_another_server_is_not_found(service: DiscordService, ada: DiscordClient) -> None:
    some_feeds(3, guild=701)
    for act in ("remove", "pause", "why", "edit", "filter", "test"):
        ada.command(f"feed {act}", feed="1")
        assert "have that feed" in ada.said
    assert ada.typing("feed why", "feed", "Blog") == []


def test_a_title_stays_words(service: DiscordService, ada: DiscordClient) -> None:
    some_feeds(1, title="[x](https://evil.example) @everyone **b**")
    ada.command("feed list")
    assert "](https://evil.example)" not in ada.said
    assert "@everyone" not in ada.said


@pytest.mark.django_db(transaction=True)
def test_stranger_may_not_press_a_public_button(service: DiscordService, ada: DiscordClient) -> None:
    some_feeds(1)
    stranger = DiscordClient(service, person="77", permissions="0", roles=("5",))
    assert stranger.press_id("v1:pause:1")["type"] == 5
    answer_due()
    assert "Only people" in stranger.said
    assert not Subscribable.objects.get().stopped


@pytest.mark.django_db(transaction=True)
def test_a_role_that_was_let_use_the_command_may(service: DiscordService, ada: DiscordClient) -> None:
    some_feeds(1)
    known = service.portal.known
    known.commands[f"/applications/{APPLICATION}/commands"] = [{"name": "feed", "id": "80"}]
    known.grants = [{"id": "80", "permissions": [{"id": "5", "type": 1, "permission": True}]}]
    helper = DiscordClient(service, person="77", permissions="0", roles=("5",))
    helper.press_id("v1:pause:1")
    answer_due()
    assert "is paused" in helper.said
    assert Subscribable.objects.get().stopped


@pytest.mark.parametrize(
    "custom_id", ["v0:pause:1", "v1:dance:1", "x", "v1:pause:999999999999999999999", "v1:pause"]
)
def test_buttons_of_old_messages_fail_kindly(custom_id: str, ada: DiscordClient) -> None:
    assert ada.press_id(custom_id)["type"] == 4


def options() -> dict[str, str]:
    return dict(Subscribable.objects.get().options)


def test_what_is_chosen_in_a_panel_counts_at_once(ada: DiscordClient) -> None:
    some_feeds(1)
    ada.command("feed edit", feed="1")
    for menu, values in {
        "style": ("compact",),
        "image": ("small",),
        "does": ("silent", "crosspost", "edit_corrected", "trim"),
        "role": ("123456789",),
    }.items():
        assert ada.choose(*values, menu=menu)["type"] == 7
    assert options() == {
        "style": "compact",
        "image": "small",
        "author": "off",
        "silent": "on",
        "crosspost": "on",
        "edit_corrected": "on",
        "trim": "on",
        "role": "123456789",
    }
    ada.choose("usual", menu="style")
    ada.choose("usual", menu="image")
    ada.choose("author", menu="does")
    ada.choose(menu="role")
    assert options() == {}


def test_a_panel_shows_what_was_chosen(ada: DiscordClient) -> None:
    some_feeds(1)
    Subscribable.objects.update(options={"style": "link", "silent": "on", "role": "123456789"})
    ada.command("feed edit", feed="1")
    parts = [part for row in ada.shown["components"] for part in row["components"]]
    chosen = [one["value"] for part in parts for one in part.get("options", ()) if one.get("default")]
    assert chosen == ["link", "usual", "author", "silent"]
    (role,) = (part["default_values"] for part in parts if part["type"] == 6)
    assert role == [{"id": "123456789", "type": "role"}]


def test_a_form_changes_name_and_words(ada: DiscordClient) -> None:
    some_feeds(1)
    ada.command("feed edit", feed="1")
    assert ada.press("Words")["type"] == 9
    given = {"template": "{title} {link}", "footer": "Our bees", "colour": "#F5A623"}
    assert ada.fill_in(name="Queens", role_words='bee* "queen bee"', **given)["type"] == 7
    one = Subscribable.objects.get()
    assert one.title == "Queens"
    assert one.options == {**given, "colour": "#f5a623", "role_words": 'bee* "queen bee"'}
    assert "Our bees" in ada.said
    ada.command("feed edit", feed="1", part="words")
    assert ada.fill_in(template="{nonsense}")["type"] == 4
    assert "There is no {nonsense}" in ada.said.replace("\\", "")
    assert options()["template"] == "{title} {link}"
    for name, typed, said in (("colour", "honey", "six digits"), ("role_words", "*", "words")):
        ada.command("feed edit", feed="1", part="words")
        ada.fill_in(**{name: typed})
        assert said in ada.said


def test_a_form_gives_each_post_a_thread(ada: DiscordClient) -> None:
    some_feeds(1)
    ada.command("feed edit", feed="1")
    ada.press("Threads")
    ada.fill_in(hours="24", name="On {title}", tags="100000, 100001")
    wanted = {"thread_minutes": "1440", "thread_name": "On {title}", "applied_tags": "100000 100001"}
    assert options() == wanted
    assert "after 24 hours" in ada.said
    ada.command("feed edit", feed="1", part="threads")
    assert next(row["components"][0]["value"] for row in ada.last["data"]["components"]) == "24"
    ada.fill_in(hours="25")
    assert "1, 24, 72 or 168" in ada.said
    assert options() == wanted


@pytest.mark.django_db(transaction=True)
def test_tags_by_category_are_looked_up_in_the_forum(
    service: DiscordService, ada: DiscordClient, site: FeedServer
) -> None:
    service.channel_type, service.tags = FORUM, [{"id": "10001", "name": "Honey"}]
    add(ada, serve_feed(site))
    ada.command("feed edit", feed="1")
    service.tags.append({"id": "10002", "name": "Wax"})
    assert ada.choose("tags_by_category", "author", menu="does")["type"] == 6
    answer_due()
    assert "apply immediately" in ada.said
    assert options() == {"tags_by_category": "on"}
    to = GuildFeed.objects.get().subscribable.subscriptions.get().destination
    assert to.config["tags"] == "10001 Honey\n10002 Wax"


@pytest.mark.django_db(transaction=True)
def test_who_may_use_the_command_alone_is_told_how_to_open_a_form(
    service: DiscordService, ada: DiscordClient
) -> None:
    some_feeds(1)
    place = f"/applications/{APPLICATION}/commands"
    service.portal.known.commands[place] = [{"name": "feed", "id": "80"}]
    service.portal.known.grants = [{"id": "80", "permissions": [{"id": "5", "type": 1, "permission": True}]}]
    helper = DiscordClient(service, person="77", permissions="0", roles=("5",))
    helper.command("feed edit", feed="1")
    helper.press("Words")
    answer_due()
    assert "`/feed edit part:words`" in helper.said
    assert helper.command("feed edit", feed="1", part="words")["type"] == 9
    helper.fill_in(name="Queens")
    answer_due()
    assert Subscribable.objects.get().title == "Queens"


@pytest.mark.parametrize(
    ("keep", "said"), [("*", "star alone"), ('"open', "quotation mark"), ("x" * 61, "60"), (MANY, "50 words")]
)
def test_a_filter_has_bounds(keep: str, said: str, ada: DiscordClient) -> None:
    some_feeds(1)
    ada.command("feed filter", feed="1")
    ada.fill_in(keep=keep)
    assert said in ada.said


def test_a_filter_is_shown_as_it_was_typed(ada: DiscordClient) -> None:
    some_feeds(1)
    ada.command("feed filter", feed="1")
    ada.fill_in(keep='honey "queen bee" C++', drop="spon*")
    ada.command("feed filter", feed="1")
    values = [row["components"][0].get("value") for row in ada.last["data"]["components"]]
    assert values == ['honey "queen bee" C++', "spon*"]


def test_a_digest_needs_an_hour_and_a_zone_that_there_are(ada: DiscordClient) -> None:
    some_feeds(1)
    ada.command("feed digest", feed="1", when="weekly", hour="24")
    assert "0 to 23" in ada.said
    ada.command("feed digest", feed="1", when="weekly", hour="9", zone="Mars/Phobos")
    assert "Unknown time zone" in ada.said
    ada.command("feed digest", feed="1", when="weekly", hour="9")
    assert Subscribable.objects.get().arrangement == "weekly"
    ada.command("feed digest", feed="1", when="each")
    assert Subscribable.objects.get().arrangement == "each"


def test_settings_of_a_server(ada: DiscordClient) -> None:
    ada.command("feed settings", log_channel=CHANNEL, language="de", zone="Europe/Berlin")
    guild = Guild.objects.get()
    assert (guild.log_channel, guild.language, guild.zone) == (int(CHANNEL), "de", "Europe/Berlin")
    assert "Deutsch" in ada.said


@pytest.mark.django_db(transaction=True)
def test_a_test_posts_the_newest_post(service: DiscordService, ada: DiscordClient, site: FeedServer) -> None:
    add(ada, serve_feed(site))
    poll_due(clock=Clock(utcnow()))
    ada.command("feed test", feed="1")
    answer_due()
    assert "Posted the newest post of" in ada.said
    assert [one["embeds"][0]["title"] for one in service.messages] == ["Post 3"]
    ada.command("feeds preview", feed="1")
    answer_due()
    assert "Post 3" in ada.said


@pytest.mark.django_db(transaction=True)
def test_a_preview_of_an_address_writes_nothing(ada: DiscordClient, site: FeedServer) -> None:
    ada.command("feeds preview", feed=serve_feed(site))
    answer_due()
    assert "Post 3" in ada.said
    assert not Feed.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_feed_moves_with_its_settings(
    service: DiscordService, ada: DiscordClient, site: FeedServer
) -> None:
    service.channels["1200000000000000007"] = GUILD
    add(ada, serve_feed(site), style="compact")
    ada.command("feed move", feed="1", channel="1200000000000000007")
    answer_due()
    assert "<#1200000000000000007>" in ada.said
    one = GuildFeed.objects.get()
    assert one.channel_id == 1200000000000000007
    assert one.subscribable.options == {"style": "compact"}
    active = one.subscribable.subscriptions.filter(status="confirmed")
    assert [row.destination.core for row in active] == ["discord/1200000000000000007"]


@pytest.mark.django_db(transaction=True)
def test_a_number_in_place_of_an_address_moves_that_feed(
    service: DiscordService, ada: DiscordClient, site: FeedServer
) -> None:
    service.channels["1200000000000000007"] = GUILD
    add(ada, serve_feed(site))
    assert "will now be posted in <#1200000000000000007>" in add(ada, "1", channel="1200000000000000007")
    assert GuildFeed.objects.get().channel_id == 1200000000000000007
    ada.command("feed add", url="#12")
    assert "have that feed" in ada.said


def test_in_a_conversation_there_is_no_server(ada: DiscordClient) -> None:
    ada.guild = ""
    ada.command("feed list")
    assert "only work in servers" in ada.said
    assert not Interaction.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_no_token_is_kept_after_the_answer(ada: DiscordClient, site: FeedServer) -> None:
    add(ada, serve_feed(site))
    row = Interaction.objects.values().get()
    assert ada.token not in str(row)
    assert "username" not in str(row)
