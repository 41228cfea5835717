"""`/feed edit every:` sets a feed's interval, and `like:` copies the settings of another.

A site moves its feed: `/feed edit` reads the new URL, and all settings of the feed are kept.
"""

from datetime import timedelta

import pytest

from chat.guilds.feeds import find_feed, remove_feed
from chat.guilds.servers import HOURLY, NEW_ADDRESS
from chat.interactions.work import answer_due
from chat.models import BotFeed, BotSettings, Guild, GuildFeed
from common.clock import utcnow
from feeds.models import Feed
from subscriptions.models import Subscribable
from tests.chat.sites import serve_feed, serve_page
from tests.chat.test_commands import add
from tests.chat.test_journey import Rounds, posted
from tests.examples import some_now
from tests.servers.feed_server import FeedServer
from tests.servers.services.discord import BOT
from tests.servers.services.discord_client import DiscordClient, DiscordService

pytestmark = pytest.mark.django_db(transaction=True)
SHORTEST, LONGEST = "recheck_every_minutes", "ceiling_minutes"


def interval() -> tuple[int, int]:
    feed = Feed.objects.get()
    return feed.recheck_every_minutes, feed.ceiling_minutes


@pytest.fixture
def bob(service: DiscordService) -> DiscordClient:
    service.channels["1200000000000000009"] = "701"
    return DiscordClient(service, guild="701", channel="1200000000000000009", person="43")


def test_a_feed_is_read_as_often_as_its_people_chose(ada: DiscordClient, site: FeedServer) -> None:
    add(ada, serve_feed(site))
    assert interval() == (10, 60)
    ada.command("feed edit", feed="1", every="30")
    assert "at least every 30 minutes." in ada.said
    assert interval() == (10, 30)
    ada.command("feed edit", feed="1", every="0")
    assert "at least every" not in ada.said
    assert interval() == (10, 60)


def test_where_servers_share_it_the_shortest_interval_counts(
    ada: DiscordClient, bob: DiscordClient, site: FeedServer
) -> None:
    url = serve_feed(site)
    add(ada, url)
    ada.command("feed edit", feed="1", every="120")
    assert interval() == (10, 120)
    add(bob, url)
    assert interval() == (10, 60)
    bob.command("feed edit", feed="1", every="90")
    assert interval() == (10, 90)
    bobs = find_feed(Guild.objects.get(pk=701), "1")
    remove_feed(bobs, now=utcnow())
    assert interval() == (10, 120)


def test_another_address_is_read_as_often_and_the_old_one_as_before(
    ada: DiscordClient, bob: DiscordClient, site: FeedServer
) -> None:
    old, new = serve_feed(site, "/old.xml"), serve_feed(site, "/new.xml")
    add(ada, old)
    add(bob, old)
    ada.command("feed edit", feed="1", every="20")
    bob.command("feed edit", feed="1", every="45")
    ada.command("feed edit", feed="1", url=new)
    answer_due()
    found = dict(Feed.objects.values_list("url", LONGEST))
    assert found == {old: 45, new: 20}


@pytest.mark.parametrize(
    ("every", "words"),
    [("9", "from 10 to 1440"), ("1441", "from 10 to 1440"), ("-5", "a number"), ("ten", "a number")],
)
def test_what_the_operator_does_not_allow_is_refused(
    ada: DiscordClient, site: FeedServer, every: str, words: str
) -> None:
    add(ada, serve_feed(site))
    ada.command("feed edit", feed="1", every=every)
    assert words in ada.said
    assert interval() == (10, 60)
    assert GuildFeed.objects.get().every_minutes is None


def test_the_operator_sets_the_bound(ada: DiscordClient, site: FeedServer) -> None:
    BotSettings.objects.update_or_create(pk=1, defaults={"shortest_interval": 5})
    add(ada, serve_feed(site))
    ada.command("feed edit", feed="1", every="5")
    assert interval() == (5, 5)


def test_a_feed_of_the_operators_keeps_its_interval(ada: DiscordClient, site: FeedServer) -> None:
    add(ada, serve_feed(site))
    BotFeed.objects.update(is_operators=True)
    ada.command("feed edit", feed="1", every="30")
    assert "belongs to the operator" in ada.said
    assert interval() == (10, 60)


def test_what_an_operator_set_by_hand_stays_while_nobody_chooses(
    ada: DiscordClient, bob: DiscordClient, site: FeedServer
) -> None:
    url = serve_feed(site)
    add(ada, url)
    Feed.objects.update(**{SHORTEST: 3, LONGEST: 7})
    add(bob, url)
    assert interval() == (3, 7)


def test_a_post_of_a_feed_that_is_rarely_read_settles_as_soon_as_others(
    service: DiscordService, ada: DiscordClient, site: FeedServer
) -> None:
    add(ada, serve_feed(site, posts=1))
    ada.command("feed edit", feed="1", every="1440")
    rounds = Rounds()
    rounds(2)
    publish(site, rounds, posts=2)
    assert posted(service) == ["Post 2"]


def test_settings_are_copied_from_another_feed(ada: DiscordClient, site: FeedServer) -> None:
    add(ada, serve_feed(site, "/a.xml"))
    add(ada, serve_feed(site, "/b.xml"))
    ada.command("feed filter", feed="1")
    ada.fill_in(keep='honey "queen bee"', drop="wasp*")
    ada.command("feed edit", feed="1", part="words")
    ada.fill_in(name="My bees", footer="Buzz", colour="#f5a623")
    ada.command("feed digest", feed="1", when="weekly", hour="9", zone="Europe/Berlin")
    ada.command("feed pause", feed="1")
    ada.command("feed edit", feed="2", like="1")
    assert "Buzz" in ada.said
    first, second = (one.subscribable for one in GuildFeed.objects.order_by("number"))
    same = ("options", "arrangement", "at", "weekday", "time_zone", "visibility")
    assert [getattr(second, name) for name in same] == [getattr(first, name) for name in same]
    rules = [list(one.post_rules.values_list("position", "action", "pattern")) for one in (first, second)]
    assert rules[0] == rules[1]
    assert len(rules[0]) == 3
    assert not second.stopped
    assert second.title != "My bees"


def test_tags_of_a_forum_are_not_taken_to_another_channel(
    service: DiscordService, ada: DiscordClient, site: FeedServer
) -> None:
    add(ada, serve_feed(site, "/a.xml"))
    add(ada, serve_feed(site, "/b.xml"))
    one, two = GuildFeed.objects.order_by("number")
    first, second = "1200000000000000011", "1200000000000000022"
    for each, tags in ((one, first), (two, second)):
        each.subscribable.options = {"applied_tags": tags, "footer": tags}
        each.subscribable.save()
    GuildFeed.objects.filter(pk=two.pk).update(channel_id=1)
    ada.command("feed edit", feed="2", like="1")
    two.subscribable.refresh_from_db()
    assert two.subscribable.options == {
        "applied_tags": "1200000000000000022",
        "footer": "1200000000000000011",
    }


def test_a_feed_that_is_not_there_gives_no_settings(ada: DiscordClient, site: FeedServer) -> None:
    add(ada, serve_feed(site))
    ada.command("feed edit", feed="1", like="no bees")
    assert "have that feed" in ada.said


class TestSender:
    def test_posts_appear_under_the_name_and_the_picture_that_were_chosen(
        self, ada: DiscordClient, service: DiscordService, site: FeedServer
    ) -> None:
        add(ada, serve_feed(site, posts=1))
        rounds = Rounds()
        rounds(2)
        edit(ada, sender="The Hive", picture="https://bees.example/hive.png")
        assert "Sender: The Hive" in ada.said
        publish(site, rounds, posts=2)
        (message,) = service.messages
        assert (message["username"], message["avatar_url"]) == ("The Hive", "https://bees.example/hive.png")
        edit(ada, sender="-", picture="-")
        assert "Sender" not in ada.said
        publish(site, rounds, posts=3)
        assert posted(service) == ["Post 2", "Post 3"]
        assert service.messages[-1]["author"] == {"id": BOT}

    def test_without_the_permission_people_are_told_which_one_is_missing(
        self, ada: DiscordClient, service: DiscordService, site: FeedServer
    ) -> None:
        add(ada, serve_feed(site))
        service.manages_webhooks = False
        edit(ada, sender="The Hive")
        assert "Manage Webhooks" in ada.said
        assert "sender_name" not in GuildFeed.objects.get().subscribable.options

    @pytest.mark.parametrize(
        ("option", "value", "words"),
        [("sender", "Discord news", "discord"), ("picture", "a picture of bees", "address of a picture")],
    )
    def test_a_name_and_a_picture_that_discord_refuses_are_refused(
        self, ada: DiscordClient, site: FeedServer, option: str, value: str, words: str
    ) -> None:
        add(ada, serve_feed(site))
        edit(ada, **{option: value})
        assert words in ada.said


def edit(ada: DiscordClient, **options: str) -> None:
    ada.command("feed edit", feed="1", **options)
    answer_due()


def publish(site: FeedServer, rounds: Rounds, *, posts: int) -> None:
    serve_feed(site, posts=posts, began=rounds.now - timedelta(hours=3))
    Feed.objects.update(next_poll_at=rounds.now)
    rounds(8)


def edited(ada: DiscordClient, url: str) -> str:
    ada.command("feed edit", feed="1", url=url)
    answer_due()
    return ada.said


def test_the_settings_stay_and_nothing_comes_again(
    service: DiscordService, ada: DiscordClient, site: FeedServer
) -> None:
    add(ada, serve_feed(site, "/old.xml", posts=2))
    ada.command("feed filter", feed="1")
    ada.fill_in(keep="post", drop="")
    ada.command("feed edit", feed="1", part="words")
    ada.fill_in(name="My bees", footer="Buzz")
    rounds = Rounds()
    rounds(2)
    new = serve_feed(site, "/new.xml", posts=2)
    assert "is now fetched from" in edited(ada, new)
    rounds(2)
    began = rounds.now
    serve_feed(site, "/old.xml", posts=3, began=began - timedelta(hours=3))
    serve_feed(site, "/new.xml", posts=3, began=began - timedelta(hours=3))
    rounds(5)
    assert posted(service) == ["Post 3"]
    one = GuildFeed.objects.get()
    assert (one.number, one.title, one.feed.url) == (1, "My bees", new)
    assert one.subscribable.options["footer"] == "Buzz"
    assert one.subscribable.post_rules.count() == 1
    old = Feed.objects.get(url=site.url("/old.xml"))
    assert old.status == Feed.Status.STOPPED
    assert BotFeed.objects.get(feed=old).unused_since is not None


def test_another_server_keeps_the_old_address(
    service: DiscordService, ada: DiscordClient, site: FeedServer
) -> None:
    service.channels["1200000000000000009"] = "701"
    bob = DiscordClient(service, guild="701", channel="1200000000000000009", person="43")
    old = serve_feed(site, "/old.xml")
    add(ada, old)
    add(bob, old)
    edited(ada, serve_feed(site, "/new.xml"))
    assert [one.feed.url for one in GuildFeed.objects.order_by("guild")] == [site.url("/new.xml"), old]
    assert Feed.objects.filter(status=Feed.Status.ACTIVE).count() == 2


def test_the_page_of_a_site_will_do(ada: DiscordClient, site: FeedServer) -> None:
    add(ada, serve_feed(site, "/old.xml"))
    serve_feed(site, "/new.xml")
    assert "is now fetched from" in edited(ada, serve_page(site, "/new.xml"))


@pytest.mark.parametrize(
    "case", some_now(["isn’t the address of a site", "no feed", "several", "denied", "there already"])
)
def test_what_cannot_be_changed_stays(case: str, ada: DiscordClient, site: FeedServer) -> None:
    old = serve_feed(site, "/old.xml")
    add(ada, old)
    other = serve_feed(site, "/other.xml", title="Talk of bees")
    page = serve_page(site, *(["/old.xml", "/other.xml"] if case == "several" else []))
    url, words = {
        "isn’t the address of a site": ("mailto:a@b.example", "isn’t the address of a site"),
        "no feed": (page, "No feed was found"),
        "several": (page, "Several feeds were found"),
        "denied": (other, "has blocked that site"),
        "there already": (other, "already in this channel"),
    }[case]
    if case == "denied":
        BotSettings.objects.update_or_create(pk=1, defaults={"denied_hosts": "127.0.0.1"})
    if case == "there already":
        add(ada, other)
    before = list(Subscribable.objects.values("feeds", "options").order_by("pk"))
    assert words in edited(ada, url)
    assert GuildFeed.objects.get(number=1).feed.url == old
    assert list(Subscribable.objects.values("feeds", "options").order_by("pk")) == before


def test_the_same_address_changes_nothing(ada: DiscordClient, site: FeedServer) -> None:
    url = serve_feed(site)
    add(ada, url)
    assert "is now fetched from" in edited(ada, url)
    assert Feed.objects.get().status == Feed.Status.ACTIVE


def test_no_more_addresses_are_looked_up_than_feeds_may_be_added(
    ada: DiscordClient, site: FeedServer
) -> None:
    url = serve_feed(site)
    add(ada, url)
    for _ in range(HOURLY[NEW_ADDRESS].most):
        edited(ada, url)
    assert "10 times an hour" in edited(ada, url)
    ada.command("feed edit", feed="1")
    assert "Changes apply immediately" in ada.said
