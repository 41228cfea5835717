"""From a URL to a post that is read, by Microsub alone."""

import pytest

from reader.entries.place import place_due
from reader.models import Entry, TimelineEntry
from tests.feeds.watched import Blog, at
from tests.reader.client import MicrosubClient

pytestmark = pytest.mark.django_db


def test_a_feed_is_followed_read_and_its_posts_arrive(blog: Blog, api: MicrosubClient) -> None:
    blog.show("b", "a", title="Blog")
    url = blog.server.url(blog.path)
    made = api.do("channels", name="News")
    assert (made["name"], made["unread"]) == ("News", 0)
    followed = api.do("follow", channel=made["uid"], url=url)
    assert followed["url"] == url
    (feed,) = api.ask("follow", channel=made["uid"])["items"]
    assert (feed["type"], feed["url"]) == ("feed", url)
    from feeds.models import Feed

    blog.feed = Feed.objects.get()
    assert (blog.feed.for_letters, blog.feed.read_by, blog.feed.pace) == (False, 1, "adaptive")
    blog.read(0)
    assert place_due() == 2
    assert api.names(made["uid"]) == ["Post b", "Post a"]
    blog.show("c", "b", "a", title="Blog")
    blog.read(10)
    place_due()
    assert api.names(made["uid"])[0] == "Post c"
    first = api.ask("timeline", channel=made["uid"])["items"][0]
    assert first["_is_read"] is False
    assert api.do("timeline", method="mark_read", channel=made["uid"], entry=first["_id"])["updated"] == 1
    assert api.ask("timeline", channel=made["uid"])["items"][0]["_is_read"] is True
    assert TimelineEntry.objects.count() == Entry.objects.count() == 3
    assert at(0)
