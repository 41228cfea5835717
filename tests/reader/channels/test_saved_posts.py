"""Stars and read posts of other programs, in the upload that takes OPML."""

import zipfile
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import pytest

from common.archives import BadArchive
from common.refused import Refused
from feeds.models import Feed, Item
from feeds.parsing.entry import Entry as Post
from reader.channels.follows import follow_unseen
from reader.channels.opml import ListReport, follow_listed, keep_list, report_of
from reader.channels.taken_over import OldPost, take_posts
from reader.entries.place import place_entry
from reader.models import Channel, Entry, FollowLine, Reader, Star, TimelineEntry, Unread
from tests.factories import NOW, FeedFactory

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
