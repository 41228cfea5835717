"""A site moves its feed: `/feed edit` reads the new URL, and all settings of the feed are kept."""

from datetime import timedelta

import pytest

from chat.guilds.servers import HOURLY, NEW_ADDRESS
from chat.interactions.work import answer_due
from chat.models import BotFeed, BotSettings, GuildFeed
from feeds.models import Feed
from subscriptions.models import Subscribable
from tests.chat.sites import serve_feed, serve_page
from tests.chat.test_commands import add
from tests.chat.test_journey import Rounds, posted
from tests.examples import some_now
from tests.servers.feed_server import FeedServer
from tests.servers.services.discord_client import DiscordClient, DiscordService

pytestmark = pytest.mark.django_db(transaction=True)


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
