"""Stars and read posts of other programs, in the upload that takes OPML.

Posts of other programs in feeds that are watched here already, or followed by others.
"""

import zipfile
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path

import pytest

from common.archives import BadArchive
from common.refused import Refused
from feeds.models import Feed, Item
from feeds.parsing.entry import Entry as Post
from reader.channels.channels import add_channel
from reader.channels.filters import mute
from reader.channels.follows import follow_feed, follow_unseen
from reader.channels.opml import ListReport, follow_listed, keep_list, report_of
from reader.channels.taken_over import OldPost, follow_taken, take_channel, take_posts
from reader.entries.place import place_entry
from reader.models import Channel, Entry, FollowLine, Reader, Star, TimelineEntry, Unread
from tests.factories import NOW, FeedFactory
from tests.feeds.watched import Blog

OLD = datetime(2026, 2, 1, tzinfo=UTC)
pytestmark = pytest.mark.django_db
FILES = Path(__file__).parents[2] / "fixtures" / "migrations" / "opml"
FRESHRSS, FEEDBIN = FILES / "freshrss-starred_2026-11-20.json", FILES / "feedbin-starred.json"
RIVER = "https://blog.example.org/river.xml"
LATER = datetime(2026, 12, 1, tzinfo=UTC)


def taken(reader: Reader, body: bytes) -> ListReport:
    kept = keep_list(reader=reader, body=body, now=LATER)
    follow_listed(kept, clock=lambda: LATER)
    return report_of(kept)


def starred(reader: Reader) -> list[str]:
    entries = Entry.objects.filter(stars__reader=reader).order_by("pk")
    return [(entry.jf2 or {}).get("name", "a note") for entry in entries]


@pytest.fixture
def river(home: Channel) -> Feed:
    """Return a followed feed with an unread post."""
    feed = follow_unseen(channel=home, url=RIVER, name="River")[0].feed
    link = "https://blog.example.org/river/5/"
    post = Post(guid=link, title="Post 5", link=link, content="<p>Words.</p>")
    take_posts(reader=home.reader, channel=home, feed=feed, posts=[OldPost(post, NOW, False)], now=NOW)
    return feed


def test_a_star_finds_its_post_by_feed_and_id(ada: Reader, home: Channel, river: Feed) -> None:
    report = taken(ada, FRESHRSS.read_bytes())
    assert report == ListReport(posts=2)
    assert starred(ada) == ["Post 5", "Post 6"]
    # Known and read there; the other is new here, and unread as there.
    (unread,) = Unread.objects.all()
    assert "more words" in unread.place.entry.text
    assert TimelineEntry.objects.filter(channel=home, feed=river).count() == 2
    assert Item.objects.filter(feed=river, guid="https://blog.example.org/river/6/").exists()
    # The texts are forgotten.
    assert list(FollowLine.objects.values_list("post", flat=True)) == [{}, {}]


def test_a_second_time_changes_nothing(ada: Reader, river: Feed) -> None:
    for file in (FRESHRSS, FEEDBIN):
        taken(ada, file.read_bytes())
    for file in (FRESHRSS, FEEDBIN):
        assert taken(ada, file.read_bytes()) == ListReport(known_posts=2)
    assert starred(ada) == ["Post 5", "Post 6"]
    assert Entry.objects.count() == 2


def test_a_star_without_id_finds_a_post_that_no_worker_has_placed(ada: Reader, river: Feed) -> None:
    TimelineEntry.objects.all().delete()
    Entry.objects.update(placed_at=None, due_at=NOW)
    taken(ada, FEEDBIN.read_bytes())
    assert Star.objects.filter(entry__feed=river).count() == 1
    assert Entry.objects.count() == 2


def test_a_star_moves_to_the_post_of_a_feed_that_is_read_later(ada: Reader, home: Channel) -> None:
    taken(ada, FEEDBIN.read_bytes())
    star = Star.objects.get(entry__jf2__name="Post 5")
    alone = Entry.objects.get(pk=star.entry_id)
    feed = follow_unseen(channel=home, url=RIVER, name="River")[0].feed
    values = {"link_hash": alone.link_hash, "jf2": alone.jf2, "hash": "x", "seen_at": NOW, "due_at": NOW}
    entry = Entry.objects.create(feed=feed, sort_at=NOW, **values)
    assert place_entry(entry_id=entry.pk, clock=lambda: LATER)
    star.refresh_from_db()
    assert star.entry_id == entry.pk


def test_stars_of_feeds_that_are_not_followed_are_kept_with_their_text(ada: Reader, home: Channel) -> None:
    assert taken(ada, FEEDBIN.read_bytes()) == ListReport(posts=2)
    assert starred(ada) == ["Post 5", "a note"]
    assert not TimelineEntry.objects.exists()
    assert not Feed.objects.exists()
    taken(ada, FEEDBIN.read_bytes())
    assert Star.objects.count() == Entry.objects.count() == 2


def test_posts_without_star_need_their_feed(ada: Reader, home: Channel) -> None:
    body = FRESHRSS.read_bytes().replace(b'"user/-/state/com.google/starred"', b'"x"')
    body = body.replace(b'"id": "user/ada/state/org.freshrss/starred"', b'"id": "x"')
    assert taken(ada, body) == ListReport(refused=2)
    assert FollowLine.objects.first().reason == "You don’t follow its feed."  # type: ignore[union-attr]
    assert not Entry.objects.exists()


def test_another_reader_gets_no_star_and_stays_unread(ada: Reader, bob: Reader, river: Feed) -> None:
    taken(bob, FRESHRSS.read_bytes())
    assert starred(ada) == []
    assert Unread.objects.filter(reader=ada).count() == 1
    assert starred(bob) == ["Post 5", "Post 6"]


def test_feeds_of_newsletters_get_no_item(ada: Reader, home: Channel) -> None:
    FeedFactory(url=RIVER, host="blog.example.org")
    taken(ada, FRESHRSS.read_bytes())
    assert not Item.objects.exists()
    assert starred(ada) == ["Post 5", "Post 6"]


def zipped(**files: bytes) -> bytes:
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files.items():
            archive.writestr(name.replace("__", "."), body)
    return out.getvalue()


def test_a_zip_has_feeds_and_stars(ada: Reader, home: Channel) -> None:
    opml = f'<opml><body><outline text="River" xmlUrl="{RIVER}"/></body></opml>'.encode()
    body = zipped(
        starred_2026__json=FRESHRSS.read_bytes(), feeds__opml__xml=opml, empty__json=b"[]", a__txt=b"x"
    )
    assert taken(ada, body) == ListReport(followed=1, posts=2)
    assert TimelineEntry.objects.filter(channel=home).count() == 2


@pytest.mark.parametrize("name", ["../../etc/passwd.json", "/etc/passwd.json", "..\\up.json", "C:\\up.json"])
def test_paths_out_of_the_folder_are_refused(ada: Reader, name: str) -> None:
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(name, b"[]")
    with pytest.raises(BadArchive, match="outside"):
        keep_list(reader=ada, body=out.getvalue(), now=NOW)


@pytest.mark.parametrize(
    "body",
    [
        zipped(bomb__json=b" " * 60_000_000),
        b"PK\3\4 and nothing more",
        zipped(a__txt=b"hello"),
        zipped(a__json=FRESHRSS.read_bytes())[:-200],
        zipped(**{f"f{number}__json": b"[]" for number in range(1_001)}),
    ],
)
def test_hostile_and_damaged_zips_are_refused(ada: Reader, body: bytes) -> None:
    with pytest.raises(Refused):
        keep_list(reader=ada, body=body, now=NOW)
    assert not FollowLine.objects.exists()


def test_hostile_html_is_cleaned(ada: Reader) -> None:
    body = FEEDBIN.read_bytes().replace(
        b"<p>Words.</p>", b"<script>x</script><img src=x onerror=y><p>Fine</p>"
    )
    taken(ada, body)
    text = repr(list(Entry.objects.values_list("jf2", flat=True)))
    assert "script" not in text
    assert "onerror" not in text
    assert "Fine" in text


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
