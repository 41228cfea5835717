"""The demo's admin has three channels, with read and unread posts."""

from ipaddress import ip_network
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from demo.blog import Blog
from demo.reader import begin_to_read
from demo.replay import VirtualClock
from demo.server import BlogServer
from feeds.adding.add import add_feed
from feeds.models import Feed, Item
from feeds.polling.poll import poll_due
from reader.models import Star, TimelineEntry, Unread
from tests.demo.test_demo import NOW, TODAY

NEEDS_APP = "reader"
pytestmark = pytest.mark.django_db


def test_three_channels_have_unread_posts_and_nothing_of_it_is_sent(settings: Any) -> None:
    settings.ALLOW_PRIVATE_NETWORKS = [ip_network("127.0.0.0/8")]
    clock = VirtualClock(NOW)
    admin = User.objects.create_superuser("admin", "admin@example.org", "x")
    with BlogServer(Blog(TODAY), clock).in_thread() as url:
        feed = add_feed(url=f"{url}/feed.xml", now=NOW)
        poll_due(clock=clock)
        reader = begin_to_read(admin, feed, url, clock=clock)
    channels = reader.channels.filter(is_notifications=False)
    assert {channel.name for channel in channels} == {"Home", "Boatyard", "Bakery"}
    for channel in channels:
        unread = Unread.objects.filter(channel=channel).count()
        assert 0 < unread <= 10, channel
    seen = TimelineEntry.objects.seen().filter(reader=reader).values_list("entry__link_hash", flat=True)
    assert len(set(seen)) == len(seen), "a post stands in two channels"
    assert Star.objects.filter(reader=reader).count() == 1
    by_tag = Feed.objects.exclude(pk=feed.pk)
    assert {one.title for one in by_tag} == {"Harbour Notes: Boatyard", "Harbour Notes: Bakery"}
    assert set(Item.objects.filter(feed__in=by_tag).values_list("state", flat=True)) == {"excluded"}
    client = Client()
    client.force_login(admin)
    assert client.get("/reader/").content.decode().count("<article") > 10
