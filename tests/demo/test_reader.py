"""The demo's admin has three channels, with read and unread posts, and picks."""

from collections.abc import Iterator
from ipaddress import ip_network
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from demo.blog import Blog
from demo.content import BLOG_POSTS, LIGHTHOUSE_POSTS
from demo.reader import CHANNELS, PICKS, add_channels, begin_to_read, pick
from demo.replay import VirtualClock
from demo.server import BlogServer
from feeds.adding.add import add_feed
from feeds.models import Feed, Item
from feeds.polling.poll import poll_due
from reader.entries.place import place_due
from reader.models import Reader, Star, TimelineEntry, Unread
from reader.people.picks import address_of, picks_of
from tests.demo.test_demo import NOW, TODAY

NEEDS_APP = "reader"


@pytest.fixture
def blog(settings: Any) -> Iterator[tuple[str, VirtualClock]]:
    settings.ALLOW_PRIVATE_NETWORKS = [ip_network("127.0.0.0/8")]
    clock = VirtualClock(NOW)
    with BlogServer(Blog(TODAY), clock).in_thread() as url:
        yield url, clock


@pytest.fixture
def reader(db: None, blog: tuple[str, VirtualClock]) -> Reader:
    url, clock = blog
    admin = User.objects.create_superuser("admin", "admin@example.org", "x")
    feed = add_feed(url=f"{url}/feed.xml", now=NOW)
    poll_due(clock=clock)
    reader = begin_to_read(admin, [feed], clock=clock)
    place_due(clock=clock)
    return reader


def test_three_channels_have_unread_posts_and_nothing_of_it_is_sent(
    reader: Reader, blog: tuple[str, VirtualClock]
) -> None:
    add_channels(reader, blog[0], clock=blog[1])
    channels = reader.channels.filter(is_notifications=False)
    assert {channel.name for channel in channels} == {"Home", "Boatyard", "Bakery"}
    for channel in channels:
        unread = Unread.objects.filter(channel=channel).count()
        assert 0 < unread <= 10, channel
    seen = TimelineEntry.objects.seen().filter(reader=reader).values_list("entry__link_hash", flat=True)
    assert len(set(seen)) == len(seen), "a post stands in two channels"
    by_tag = Feed.objects.filter(url__contains="/tags/")
    assert {one.title for one in by_tag} == {"Harbour Notes: Boatyard", "Harbour Notes: Bakery"}
    assert set(Item.objects.filter(feed__in=by_tag).values_list("state", flat=True)) == {"excluded"}
    client = Client()
    client.force_login(reader.user)
    assert client.get("/reader/").content.decode().count("<article") > 10


def test_a_pick_is_read_starred_and_on_the_public_page_with_its_note(reader: Reader) -> None:
    picked = PICKS[-1]
    pick(reader, picked, NOW)
    (shown,) = picks_of(reader)
    assert picked.note in shown.html
    assert shown.tags == (picked.tags,)
    starred = Star.objects.get(reader=reader).entry
    assert not Unread.objects.filter(place__entry=starred).exists()
    page = Client().get(address_of(reader))
    assert page.status_code == 200
    assert shown.title in page.content.decode()


def test_picks_are_in_home_and_there_on_their_day() -> None:
    posts = {post.slug: post for post in (*BLOG_POSTS, *LIGHTHOUSE_POSTS)}
    for picked in PICKS:
        post = posts[picked.slug]
        assert post.days_ago - picked.days_ago == 1
        assert not post.withdrawn
        assert not set(CHANNELS) & set(post.tags)
    assert {bool(picked.note) for picked in PICKS} == {bool(picked.tags) for picked in PICKS} == {True, False}
