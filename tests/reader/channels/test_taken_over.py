"""Posts of other programs in feeds that are watched here already, or followed by others."""

from datetime import UTC, datetime, timedelta

import pytest

from feeds.models import Item
from feeds.parsing.entry import Entry as Post
from reader.channels.channels import add_channel
from reader.channels.filters import mute
from reader.channels.follows import follow_feed
from reader.channels.taken_over import OldPost, follow_taken, take_channel, take_posts
from reader.models import Channel, Entry, Reader, TimelineEntry, Unread
from tests.factories import NOW, FeedFactory
from tests.feeds.watched import Blog

pytestmark = pytest.mark.django_db
OLD = datetime(2026, 2, 1, tzinfo=UTC)


def old(name: str, *, read: bool = False, link: str = "", guid: str | None = None) -> OldPost:
    post = Post(guid=name if guid is None else guid, title=name, link=link or f"https://x.test/{name}")
    return OldPost(post, OLD, read)


def shown(channel: Channel) -> list[str]:
    places = TimelineEntry.objects.seen().filter(channel=channel).select_related("entry")
    return sorted((place.entry.jf2 or {})["name"] for place in places)


def test_a_feed_of_letters_keeps_its_own_items(ada: Reader, home: Channel, blog: Blog) -> None:
    blog.show("b", "a")
    blog.watch()
    blog.read(0)
    items = Item.objects.count()
    states = blog.states()
    taken = take_posts(
        reader=ada, channel=home, feed=blog.feed, posts=[old("a", read=True), old("gone")], now=NOW
    )
    assert taken == 2
    follow_taken(channel=home, feed=blog.feed, name="Blog", read_until=OLD)
    assert (Item.objects.count(), blog.states()) == (items, states)
    assert Entry.objects.get(item=blog.item("a")).places.count() == 1
    assert TimelineEntry.objects.filter(channel=home).count() == 3
    blog.feed.refresh_from_db()
    assert (blog.feed.status, blog.feed.read_by) == ("active", 1)


def test_posts_of_the_document_that_are_older_are_read(ada: Reader, home: Channel, blog: Blog) -> None:
    blog.show("b", "a")
    blog.watch()
    blog.read(0)
    take_posts(reader=ada, channel=home, feed=blog.feed, posts=[old("gone")], now=NOW)
    follow_taken(channel=home, feed=blog.feed, name="", read_until=NOW + timedelta(days=3_650))
    assert [row.place.entry.jf2["name"] for row in Unread.objects.all()] == ["gone"]  # type: ignore[index]


def test_a_second_time_takes_nothing_again(ada: Reader, home: Channel) -> None:
    feed = FeedFactory(for_letters=False)
    posts = [old("a"), old("a"), old("none", guid=""), old("none", guid="")]
    assert take_posts(reader=ada, channel=home, feed=feed, posts=posts, now=NOW) == 2
    assert take_posts(reader=ada, channel=home, feed=feed, posts=posts, now=NOW) == 0
    assert shown(home) == ["a", "none"]


def test_another_reader_has_the_same_entries(ada: Reader, bob: Reader, home: Channel) -> None:
    feed, theirs = FeedFactory(for_letters=False), bob.channels.get(uid="home")
    take_posts(reader=ada, channel=home, feed=feed, posts=[old("a", read=True)], now=NOW)
    assert take_posts(reader=bob, channel=theirs, feed=feed, posts=[old("a")], now=NOW) == 0
    assert Entry.objects.count() == 1
    assert list(Unread.objects.values_list("reader__slug", flat=True)) == ["bob"]


def test_blocked_muted_and_copied_posts_are_hidden(ada: Reader, home: Channel) -> None:
    feed = FeedFactory(for_letters=False, site_url="https://muted.test/")
    mute(reader=ada, channel=None, url="https://muted.test/", now=NOW)
    take_posts(reader=ada, channel=home, feed=feed, posts=[old("muted")], now=NOW)
    other = FeedFactory(for_letters=False, site_url="https://blocked.test/")
    mute(reader=ada, channel=home, url="https://blocked.test/", now=NOW, is_block=True)
    take_posts(reader=ada, channel=home, feed=other, posts=[old("blocked")], now=NOW)
    third = FeedFactory(for_letters=False, site_url="https://third.test/")
    copy = old("copy", link="https://x.test/muted")
    take_posts(reader=ada, channel=home, feed=third, posts=[copy, old("seen")], now=NOW)
    assert shown(home) == ["seen"]
    assert TimelineEntry.objects.count() == 3


def test_a_channel_gets_its_uid_unless_it_is_in_use(ada: Reader, home: Channel) -> None:
    assert take_channel(reader=ada, uid="abc", name="Home").pk == home.pk
    assert ada.channels.filter(uid="abc", name="Home").exists()
    used = add_channel(reader=ada, name="Used")
    follow_feed(channel=used, feed=FeedFactory())
    assert take_channel(reader=ada, uid="def", name="Used").uid == used.uid
    assert take_channel(reader=ada, uid="abc", name="Other name").name == "Home"
    assert take_channel(reader=ada, uid="global", name="All").uid != "global"
    assert take_channel(reader=ada, uid="a/b", name="Odd").uid != "a/b"


def test_filters_of_ones_own_stay(ada: Reader, home: Channel) -> None:
    take_channel(reader=ada, uid="home", name="Home", kinds=["like"])
    take_channel(reader=ada, uid="home", name="Home", kinds=["repost"], hide=["x"])
    home.refresh_from_db()
    assert home.filters == {"kinds": ["like"], "hide": [], "keep": []}
