"""The pages of channels: add, rename, order, set, delete; mute and block.

Channels side by side: which ones, their order, and their marks.
The side column: channels, their feeds, and the account.
The pages of filters: preview, save, and messages about failing ones.
"""

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from feeds.models import Feed
from reader.channels.channels import add_channel
from reader.models import Channel, Entry, Follow, Letters, Mute, Reader, TimelineEntry, Unread
from reader.pages import timelines
from subscriptions.models import Subscribable, Subscription, Suppression
from subscriptions.subscribers.admin_changes import confirm_by_hand
from tests.factories import NOW, FeedFactory
from tests.reader.channels.test_filters import a_post, filtered, names
from tests.reader.posts import an_entry, minutes, put

FILTER_PAGE = "/reader/c/home/filters/"
PAGE = "/reader/deck/"
pytestmark = pytest.mark.django_db
AUTHOR = "https://ada.example.org/"


def channel_names(ada: Reader) -> list[str]:
    return list(ada.channels.order_by("-is_notifications", "position", "pk").values_list("name", flat=True))


def test_channels_are_added_and_moved(browser: Client, ada: Reader) -> None:
    for name in ("News", "Music"):
        assert browser.post("/reader/channels/", {"name": name}).status_code == 302
    assert channel_names(ada) == ["Notifications", "Music", "News", "Home"]
    browser.post("/reader/channels/", {"act": "down", "channel": ada.channels.get(name="Music").uid})
    assert channel_names(ada) == ["Notifications", "News", "Music", "Home"]
    browser.post("/reader/channels/", {"act": "up", "channel": ada.channels.get(name="News").uid})
    browser.post("/reader/channels/", {"act": "down", "channel": "notifications"})
    assert channel_names(ada) == ["Notifications", "News", "Music", "Home"]


@pytest.mark.parametrize(("name", "says"), [("Home", "with that name"), (" ", "at most 100 characters")])
def test_a_name_that_cannot_be_is_told(browser: Client, ada: Reader, name: str, says: str) -> None:
    answer = browser.post("/reader/channels/", {"name": name})
    assert answer.status_code == 400
    assert says in answer.content.decode()


def test_settings_are_saved(browser: Client, home: Channel) -> None:
    browser.post(
        "/reader/c/home/settings/", {"name": "Friends", "unread": "flag", "keep": "14", "layout": "cards"}
    )
    home.refresh_from_db()
    assert (home.name, home.unread_mode, home.keep_days) == ("Friends", "flag", 14)
    put(home)
    assert 'data-count="home">•<' in browser.get("/reader/").content.decode()
    browser.post(
        "/reader/c/home/settings/", {"name": "Friends", "unread": "off", "keep": "", "layout": "list"}
    )
    home.refresh_from_db()
    assert (home.unread_mode, home.keep_days) == ("off", None)


@pytest.mark.parametrize("keep", ["0", "-1", "3651", "²", "many"])
def test_days_that_are_none_are_refused_and_what_was_typed_stays(
    browser: Client, home: Channel, keep: str
) -> None:
    answer = browser.post(
        "/reader/c/home/settings/", {"name": "Typed", "unread": "count", "keep": keep, "layout": "list"}
    )
    assert answer.status_code == 400
    assert 'value="Typed"' in answer.content.decode()
    home.refresh_from_db()
    assert (home.name, home.keep_days) == ("Home", None)


def test_a_channel_is_deleted_by_who_is_sure(browser: Client, home: Channel) -> None:
    put(home)
    assert browser.post("/reader/c/home/settings/", {"act": "delete"}).status_code == 400
    assert Channel.objects.filter(pk=home.pk).exists()
    assert browser.post("/reader/c/home/settings/", {"act": "delete", "sure": "on"}).status_code == 302
    assert not Channel.objects.filter(pk=home.pk).exists()
    assert (
        browser.post("/reader/c/notifications/settings/", {"act": "delete", "sure": "on"}).status_code == 400
    )


def test_a_muted_author_is_hidden_and_comes_back(browser: Client, home: Channel) -> None:
    place = put(home, an_entry(author=AUTHOR, jf2={"name": "Hers", "author": {"name": "Ada", "url": AUTHOR}}))
    page = browser.get(f"/reader/post/{place.entry_id}/").content.decode()
    assert f'name="url" value="{AUTHOR}"' in page
    browser.post("/reader/mute/", {"act": "mute", "url": AUTHOR})
    assert "Hers" not in browser.get("/reader/").content.decode()
    assert AUTHOR in browser.get("/reader/muted/").content.decode()
    browser.post("/reader/mute/", {"act": "unmute", "url": AUTHOR})
    assert "Hers" in browser.get("/reader/").content.decode()


def test_a_blocked_author_is_gone(browser: Client, home: Channel) -> None:
    put(home, an_entry(author=AUTHOR))
    browser.post("/reader/mute/", {"act": "block", "url": AUTHOR, "channel": "home"})
    browser.post("/reader/mute/", {"act": "unblock", "url": AUTHOR, "channel": "home"})
    assert not Mute.objects.exists()
    assert TimelineEntry.objects.get().hidden == TimelineEntry.Hidden.REMOVED


def test_what_another_reader_has_is_not_changed(
    web: Callable[[Reader], Client], bob: Reader, ada: Reader
) -> None:
    hers = ada.channels.create(uid="hers", name="Hers")
    Mute.objects.create(reader=ada, key="0" * 32, url=AUTHOR)
    browser = web(bob)
    assert browser.get("/reader/c/hers/settings/").status_code == 404
    for address, given in (
        ("/reader/c/hers/settings/", {"name": "Mine", "unread": "off", "keep": "1"}),
        ("/reader/c/hers/settings/", {"act": "delete", "sure": "on"}),
        ("/reader/channels/", {"act": "up", "channel": "hers"}),
        ("/reader/mute/", {"act": "mute", "url": AUTHOR, "channel": "hers"}),
        ("/reader/mute/", {"act": "unmute", "url": AUTHOR, "channel": "hers"}),
    ):
        assert browser.post(address, given).status_code == 404, address
    browser.post("/reader/mute/", {"act": "unmute", "url": AUTHOR})
    assert (Channel.objects.get(pk=hers.pk).name, Mute.objects.count()) == ("Hers", 1)
    assert AUTHOR not in browser.get("/reader/muted/").content.decode()


def columns(browser: Client, query: str = "") -> list[str]:
    page = browser.get(PAGE + query).content.decode()
    return [part.split('"')[0] for part in page.split('aria-labelledby="column-')[1:]]


def test_every_channel_is_a_column_until_one_chooses(browser: Client, ada: Reader) -> None:
    news = add_channel(reader=ada, name="News")
    assert columns(browser) == [news.uid, "home"]
    put(ada.channels.get(is_notifications=True))
    assert columns(browser) == ["notifications", news.uid, "home"]
    browser.post(PAGE, {"channel": ["home", "none"]})
    assert columns(browser) == ["home"]
    browser.post(PAGE, {})
    assert columns(browser) == []
    assert "Choose channels above" in browser.get(PAGE).content.decode()


def test_a_column_has_the_newest_posts_and_leads_to_the_rest(
    browser: Client, home: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timelines, "POSTS_IN_A_COLUMN", 2)
    places = [put(home, at=minutes(number), is_unread=number < 2) for number in range(3)]
    page = browser.get(PAGE).content.decode()
    shown = [f'id="post-{place.pk}"' in page for place in places]
    assert shown == [False, True, True]
    assert "/reader/c/home/?after=" in page
    unread = browser.get(f"{PAGE}?unread").content.decode()
    assert [f'id="post-{place.pk}"' in unread for place in places] == [True, True, False]


def test_a_column_is_marked_read_by_itself_and_undone(browser: Client, ada: Reader, home: Channel) -> None:
    news = add_channel(reader=ada, name="News")
    here, there = put(home), put(news)
    given = {"act": "all", "channel": "home", "top": here.pk, "back": PAGE}
    back = browser.post("/reader/mark/", given).headers["Location"]
    assert list(Unread.objects.values_list("place", flat=True)) == [there.pk]
    page = browser.get(back).content.decode()
    assert "1 post marked as read." in page
    name = page.split('name="name" value="')[1].split('"')[0]
    browser.post("/reader/undo/", {"name": name, "back": PAGE})
    assert Unread.objects.count() == 2


def test_there_are_so_many_columns_and_no_more(browser: Client, ada: Reader) -> None:
    for number in range(timelines.MOST_COLUMNS + 3):
        add_channel(reader=ada, name=f"Channel {number}")
    put(ada.channels.get(is_notifications=True))
    assert len(columns(browser)) == timelines.MOST_COLUMNS


def test_nobody_chooses_for_another(web: Callable[[Reader], Client], ada: Reader, bob: Reader) -> None:
    web(bob).post(PAGE, {"channel": []})
    assert ada.channels.filter(in_deck=False).count() == 0
    assert bob.channels.filter(in_deck=True).count() == 0


@pytest.fixture
def feed(home: Channel) -> Feed:
    feed = FeedFactory(title="Harbour Notes")
    Follow.objects.create(channel=home, feed=feed)
    return feed


def column(client: Client, address: str = "/reader/") -> str:
    return client.get(address).content.decode().partition('id="channels"')[2].partition("</nav>")[0]


def counts(html: str) -> dict[str, str]:
    """Return the counts by `data-count`."""
    return dict(re.findall(r'data-count="([^"]*)">([^<]*)<', html))


def current(html: str) -> list[str]:
    return [unescape(link) for link in re.findall(r'href="([^"]*)" aria-current="page"', html)]


def test_each_feed_has_its_unread_posts_in_each_channel(
    browser: Client, home: Channel, feed: Feed, channel: Callable[[str], Channel]
) -> None:
    other = channel("other")
    Follow.objects.create(channel=other, feed=feed)
    for is_unread in (True, True, False):
        put(home, an_entry(feed=feed), is_unread=is_unread)
    put(other, an_entry(feed=feed))
    put(home, an_entry(feed=FeedFactory()))
    wanted = {"": "4", "home": "3", f"home/{feed.pk}": "2", "other": "1", f"other/{feed.pk}": "1"}
    assert counts(column(browser)) == {**wanted, "notifications": ""}
    listed = counts(browser.get("/reader/feeds/").content.decode().partition("<main")[2])
    assert listed == {f"home/{feed.pk}": "2", f"other/{feed.pk}": "1"}


@pytest.mark.parametrize(("mode", "shown"), [("count", "1"), ("flag", "•"), ("off", "")])
def test_a_feed_is_counted_as_its_channel_is(
    browser: Client, home: Channel, feed: Feed, mode: str, shown: str
) -> None:
    Channel.objects.filter(pk=home.pk).update(unread_mode=mode)
    put(home, an_entry(feed=feed))
    told = counts(column(browser))
    assert (told["home"], told[f"home/{feed.pk}"]) == (shown, shown)


def test_above_the_limit_the_newest_are_counted(
    browser: Client, home: Channel, feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reader.timelines.pages.MOST_COUNTED", 2)
    monkeypatch.setattr("reader.pages.access.MOST_COUNTED", 2)
    for _ in range(2):
        put(home, an_entry(feed=feed))
    assert counts(column(browser))[f"home/{feed.pk}"] == "2"
    put(home, an_entry(feed=feed))
    told = counts(column(browser))
    assert (told["home"], told[f"home/{feed.pk}"]) == ("3", "2+")


@pytest.mark.parametrize("address", ["/reader/", "/reader/c/home/", "/reader/feeds/", "/reader/account/"])
def test_three_hundred_feeds_need_no_more_queries_than_one(
    browser: Client, home: Channel, feed: Feed, address: str
) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            assert browser.get(address).status_code == 200
        return len(asked)

    put(home, an_entry(feed=feed))
    browser.get(address)
    before = queries()
    more = Feed.objects.bulk_create(
        Feed(url=f"https://{n}.example/feed", host=f"{n}.example", added_at=NOW) for n in range(299)
    )
    Follow.objects.bulk_create(Follow(channel=home, feed=feed) for feed in more)
    for one in more[:5]:
        put(home, an_entry(feed=one))
    assert len(counts(column(browser))) > 300
    assert queries() == before


def test_a_feed_leads_to_its_posts_in_that_channel_and_is_marked_there(
    browser: Client, home: Channel, feed: Feed, channel: Callable[[str], Channel]
) -> None:
    other = channel("other")
    Follow.objects.create(channel=other, feed=feed)
    address = f"/reader/feeds/{feed.pk}/?channel=other"
    assert f'href="{address}"' in column(browser)
    assert current(column(browser, address)) == [address]
    assert current(column(browser, "/reader/c/other/")) == ["/reader/c/other/"]
    assert current(column(browser, "/reader/feeds/")) == ["/reader/feeds/"]


def test_channels_of_few_feeds_are_open_and_of_many_only_the_current_one(
    browser: Client, home: Channel, feed: Feed, channel: Callable[[str], Channel]
) -> None:
    def opened(address: str) -> list[str]:
        return re.findall(r'data-count="(\w+)">[^<]*</span></a>\s*<details open>', column(browser, address))

    other = channel("other")
    Follow.objects.create(channel=other, feed=feed)
    assert opened("/reader/") == ["home", "other"]
    for _ in range(20):
        Follow.objects.create(channel=other, feed=FeedFactory())
    assert opened("/reader/") == []
    assert opened("/reader/c/home/") == ["home"]


@pytest.mark.parametrize("is_staff", [False, True])
def test_the_account_menu_leads_staff_to_the_admin(browser: Client, ada: Reader, is_staff: bool) -> None:
    ada.user.is_staff = is_staff
    ada.user.save()
    menu: Any = column(browser).rpartition("<details")[2]
    assert ('href="/admin/"' in menu) == is_staff
    assert 'action="/account/sign-out/"' in menu


def test_a_post_without_a_title_has_a_visible_link(browser: Client, home: Channel) -> None:
    place = put(home, an_entry(jf2={"type": "entry", "content": {"text": "High water at six."}}))
    page = browser.get("/reader/").content.decode()
    assert re.search(rf'<a href="/reader/post/{place.entry_id}/" class="when"><time', page)


@pytest.fixture
def ada_web(web: Callable[[Reader], Client], ada: Reader, home: Channel) -> Client:
    put(home, a_post("The sea", kind="article"))
    put(home, a_post("A heart", kind="like"), at=minutes(1))
    put(home, a_post("The town", kind="article"), at=minutes(2))
    return web(ada)


def test_a_look_says_which_posts_would_be_hidden_and_why(ada_web: Client, home: Channel) -> None:
    given = {"act": "look", "kinds": ["like"], "hide": "sea\n\n", "keep": ""}
    page = ada_web.post(FILTER_PAGE, given).content.decode()
    assert "Of the newest 3, these filters hide 2. Nothing is saved yet." in " ".join(page.split())
    assert "hidden: Liked posts" in page
    assert "hidden: it has “sea”" in page
    assert 'value="like" checked' in page
    assert len(names(home)) == 3


def test_what_is_saved_holds_at_once_and_is_taken_back(ada_web: Client, home: Channel) -> None:
    ada_web.post(FILTER_PAGE, {"act": "save", "keep": "/town|sea/"})
    assert names(home) == ["The town", "The sea"]
    assert "A heart" not in ada_web.get("/reader/c/home/").content.decode()
    assert "/town|sea/" in ada_web.get(FILTER_PAGE).content.decode()
    assert "hidden: it matches nothing that should be shown" in ada_web.get(FILTER_PAGE).content.decode()
    ada_web.post(FILTER_PAGE, {"act": "save"})
    assert len(names(home)) == 3


def test_what_cannot_be_used_is_said_and_stays_typed(ada_web: Client, home: Channel) -> None:
    answer = ada_web.post(FILTER_PAGE, {"act": "save", "hide": "/(/", "keep": "sea"})
    page = answer.content.decode()
    assert answer.status_code == 400
    assert "It is no regular expression" in page
    assert ">/(/</textarea>" in page
    assert len(names(home)) == 3


def test_an_empty_page_says_that_filters_made_it_so(ada_web: Client, home: Channel) -> None:
    filtered(home, keep=["nothing of this"])
    assert "hide all 3 of its posts" in ada_web.get("/reader/c/home/").content.decode()
    Channel.objects.update(filters_trouble="/slow/")
    assert "/slow/" in ada_web.get(FILTER_PAGE).content.decode()


def test_nobody_else_looks_or_changes(web: Callable[[Reader], Client], bob: Reader, ada: Reader) -> None:
    ada.channels.create(uid="hers", name="Hers")
    for act in ("look", "save"):
        assert web(bob).post("/reader/c/hers/filters/", {"act": act, "hide": "x"}).status_code == 404
    assert web(bob).get("/reader/c/hers/filters/").status_code == 404
    assert web(ada).get("/reader/c/notifications/filters/").status_code == 404
    assert not Channel.objects.filter(filters__isnull=False).exists()


def test_an_author_without_an_address_is_hidden_by_a_filter_that_is_looked_at_first(
    ada: Reader, home: Channel, web: Callable[[Reader], Client]
) -> None:
    feed = FeedFactory(title="The Paper")
    for name in ("Ada B. (she)", "Bo"):
        author = {"name": name, "url": feed.site_url}
        entry = an_entry(feed=feed, jf2={"type": "entry", "name": f"By {name}", "author": author})
        place = put(home, entry)
    browser = web(ada)
    (first,) = Entry.objects.exclude(pk=place.entry_id)
    page = browser.get(f"/reader/post/{first.pk}/").content.decode()
    link = re.search(r'href="(/reader/c/home/filters/\?hide=[^"#]+)', page)
    assert link
    assert "Hide posts of Ada B. (she) in Home" in page
    looked = browser.get(link[1]).content.decode()
    assert "these filters hide 1" in looked
    assert Channel.objects.get(pk=home.pk).filters is None, "nothing is changed by a link"


@pytest.mark.parametrize(
    ("hide", "says"),
    [
        ("\n".join(map(str, range(51))), "Geben Sie höchstens 50 Zeilen ein."),
        ("x" * 201, "Eine Zeile darf höchstens 200 Zeichen haben."),
        ("/(/", 'Diese Filter können nicht verwendet werden. <span lang="en">/(/: '),
    ],
)
def test_why_filters_are_refused_is_in_the_readers_language_or_marked_as_english(
    ada_web: Client, hide: str, says: str
) -> None:
    answer = ada_web.post(FILTER_PAGE, {"act": "look", "hide": hide}, headers={"accept-language": "de"})
    assert answer.status_code == 400
    assert says in answer.content.decode()


class TestByEmail:
    PAGE = "/reader/c/home/settings/"

    @pytest.fixture
    def given(self, ada: Reader) -> dict[str, str]:
        """Return a form that switches Home on; Ada has an address."""
        User.objects.filter(pk=ada.user_id).update(email="ada@example.org")
        chosen = {"arrangement": "weekly", "weekday": "4", "at": "07:00", "max_posts": "20"}
        return {"act": "letters", "time_zone": "Europe/Vienna", "content": "titles", **chosen}

    def test_without_an_address_the_page_leads_to_the_account(self, browser: Client, home: Channel) -> None:
        page = browser.get(self.PAGE).content.decode()
        assert "Tell us your address first" in page
        assert 'name="at"' not in page

    def test_it_waits_for_the_address_to_be_confirmed(
        self, browser: Client, home: Channel, given: dict[str, str]
    ) -> None:
        assert 'value="off" selected' in browser.get(self.PAGE).content.decode()
        page = browser.post(self.PAGE, given, follow=True).content.decode()
        assert "Open the link in the email to <bdi>ada@example.org</bdi>" in page
        row = home.letters
        assert (row.arrangement, row.weekday, row.max_posts) == ("weekly", 4, 20)
        assert (row.time_zone, row.unread_only, row.since) == ("Europe/Vienna", False, None)

    def test_the_next_email_is_named_in_the_owners_time_zone(
        self, browser: Client, home: Channel, given: dict[str, str]
    ) -> None:
        browser.post(self.PAGE, given)
        confirm_by_hand(subscription=Subscription.objects.get(), now=NOW)
        put(home, at=NOW)
        put(home, at=NOW)
        page = browser.get(self.PAGE).content.decode()
        assert re.search(r"Next: Friday, .*, 7:00, to <bdi>ada@example.org</bdi>, with 2 posts so far", page)

    def test_an_address_that_gets_nothing_is_told(
        self, browser: Client, home: Channel, given: dict[str, str]
    ) -> None:
        browser.post(self.PAGE, given)
        confirm_by_hand(subscription=Subscription.objects.get(), now=NOW)
        Suppression.objects.create(core="ada@example.org")
        assert "Nothing may be sent to your address now." in browser.get(self.PAGE).content.decode()

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("arrangement", "hourly"),
            ("at", "25:00"),
            ("weekday", "7"),
            ("time_zone", "Mars/Olympus"),
            ("max_posts", "0"),
            ("max_posts", "501"),
            ("content", ""),
        ],
    )
    def test_wrong_values_change_nothing(
        self, browser: Client, home: Channel, given: dict[str, str], field: str, value: str
    ) -> None:
        assert browser.post(self.PAGE, {**given, field: value}).status_code == 400
        assert not Letters.objects.exists()
        assert not Subscribable.objects.exists()

    def test_a_refused_address_is_told_and_nothing_saved(
        self, browser: Client, home: Channel, given: dict[str, str]
    ) -> None:
        Suppression.objects.create(core="ada@example.org")
        response = browser.post(self.PAGE, given)
        assert response.status_code == 400
        assert "Nothing may be sent to your address now." in response.content.decode()
        assert not Letters.objects.exists()

    def test_another_readers_channel_cannot_be_changed(
        self, web: Callable[[Reader], Client], bob: Reader, home: Channel, given: dict[str, str]
    ) -> None:
        Channel.objects.filter(pk=home.pk).update(uid="secret")
        assert web(bob).post("/reader/c/secret/settings/", given).status_code == 404
