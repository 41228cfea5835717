"""Days of users whose apps talk to a real server: all posts arrive, and marks sync both ways."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from common.clock import utcnow
from feeds.models import Feed
from reader.models import Channel, Entry, Reader, Star, TimelineEntry, Unread
from reader.people.readers import add_reader
from reader.people.tokens import make_app_password
from tests.examples import some_now
from tests.factories import FeedFactory
from tests.reader.greader.apps import (
    READ,
    READING_LIST,
    STARRED,
    App,
    Capy,
    FluentReader,
    NetNewsWire,
    Newsboat,
)
from tests.reader.posts import an_entry, put

pytestmark = pytest.mark.django_db(transaction=True)
PHP, PLAIN = "/api/greader.php", "/greader"


@pytest.fixture
def ada(transactional_db: None) -> Reader:
    return add_reader(name="ada", now=utcnow())


@pytest.fixture
def home(ada: Reader) -> Channel:
    channel: Channel = ada.channels.get(uid="home")
    channel.follows.create(feed=FeedFactory(title="Blog"))
    return channel


@pytest.fixture
def feed(home: Channel) -> Feed:
    return home.follows.get().feed


@pytest.fixture
def an_app(live_server: Any, ada: Reader) -> Iterator[Any]:
    """Yield a function that signs an app in at one of our URLs."""
    apps: list[App] = []

    def one(kind: type[App], path: str = PHP) -> App:
        password = make_app_password(reader=ada, app=kind.__name__, now=utcnow())[1]
        apps.append(kind(f"{live_server.url}{path}", "ada", password))
        return apps[-1]

    yield one
    for app in apps:
        app.http.close()


def unread_posts(home: Channel, feed: Feed, many: int) -> None:
    """Create unread posts of the last days."""
    first, now = utcnow() - timedelta(days=3), utcnow()
    jf2 = {"type": "entry", "name": "Tide", "url": "https://e.example/", "content": {"html": "<p>High</p>"}}
    entries = Entry.objects.bulk_create(
        (
            Entry(hash="0" * 64, jf2=jf2, kind="article", feed=feed, seen_at=now, placed_at=now)
            for _ in range(many)
        ),
        batch_size=1_000,
    )
    places = TimelineEntry.objects.bulk_create(
        (
            TimelineEntry(
                channel=home,
                reader_id=home.reader_id,
                entry=entry,
                feed=feed,
                at=first + timedelta(seconds=number // 3),
                came_at=first + timedelta(seconds=number // 3),
            )
            for number, entry in enumerate(entries)
        ),
        batch_size=1_000,
    )
    Unread.objects.bulk_create(
        (Unread(place=place, channel=home, reader_id=home.reader_id, at=place.at) for place in places),
        batch_size=1_000,
    )


@pytest.mark.slow
@pytest.mark.parametrize("many", some_now([1_200, pytest.param(10_000, marks=pytest.mark.slow)]))
def test_unread_posts_come_by_ids_and_contents_and_marks_go_back(
    an_app: Any, home: Channel, feed: Feed, many: int
) -> None:
    unread_posts(home, feed, many)
    everything = set(map(str, Entry.objects.values_list("pk", flat=True)))
    mac: NetNewsWire = an_app(NetNewsWire)
    ids = mac.ids(READING_LIST, xt=READ)
    assert len(ids) == many
    assert set(ids) == everything
    before = mac.calls
    posts = mac.posts(ids)
    assert {str(int(one["id"].rpartition("/")[2], 16)) for one in posts} == everything
    assert mac.calls - before == -(-many // 150)

    mac.mark(ids[: many // 4], "a", READ)
    mac.mark(ids[100:200], "r", READ)
    mac.mark(ids[:300], "a", STARRED)
    phone: Capy = an_app(Capy)
    unread = {str(int(one, 16)) for one in phone.unread()}
    assert unread == everything - set(ids[: many // 4]) | set(ids[100:200])
    assert Star.objects.count() == 300
    assert len(phone.posts(phone.unread()[:250])) == 250
    desk: FluentReader = an_app(FluentReader, PLAIN)
    assert desk.unread() == unread
    assert len(desk.fetch(1_100)) == 1_100

    # Posts read on the pages are read in the apps.
    Unread.objects.filter(place__entry__in=list(map(int, ids[-100:]))).delete()
    assert set(mac.ids(READING_LIST, xt=READ)) == unread - set(ids[-100:])


def test_a_late_post_of_an_old_date_reaches_an_app_that_asks_for_what_is_new(
    an_app: Any, home: Channel, feed: Feed
) -> None:
    now = utcnow()
    for number in range(5):
        put(home, an_entry(feed=feed), at=now - timedelta(minutes=number + 5))
    mac: NetNewsWire = an_app(NetNewsWire)
    desk: FluentReader = an_app(FluentReader)
    assert len(mac.ids(READING_LIST)) == len(desk.fetch(100)) == 5
    year = timedelta(days=365)
    late = put(home, an_entry(feed=feed, published=now - year), at=now - year, came_at=now)
    assert str(late.entry_id) in mac.ids(READING_LIST, ot=int(now.timestamp()))
    assert [one["id"] for one in desk.fetch(100)] == [str(late.entry_id)]
    assert desk.fetch(100) == [], "and no post twice"


def test_feed_by_feed_with_marks(an_app: Any, home: Channel, feed: Feed) -> None:
    place = put(home, an_entry(feed=feed), at=utcnow())
    terminal: Newsboat = an_app(Newsboat)
    ((title, (post,)),) = terminal.feeds().items()
    assert title == "Blog"
    assert READ not in post["categories"]
    terminal.mark(post["id"], is_read=True)
    assert not Unread.objects.exists()
    assert READ in terminal.feeds()["Blog"][0]["categories"]
    terminal.mark(post["id"], is_read=False)
    assert Unread.objects.get().place == place


def test_a_list_that_has_not_changed_is_not_sent_again(an_app: Any, home: Channel) -> None:
    mac: NetNewsWire = an_app(NetNewsWire)
    path = "/reader/api/0/subscription/list?output=json"
    etag = mac.send("GET", path).headers["ETag"]
    answer = mac.send("GET", path, **{"If-None-Match": etag})
    assert (answer.status_code, answer.content) == (304, b"")
