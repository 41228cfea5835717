"""Adding a feed: which existing posts are sent, and the effect of a URL and its change."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from feeds.adding.add import add_feed, alter_feed
from feeds.models import Feed
from feeds.rules.plan import THERE_BEFORE
from tests.feeds.watched import ADDED, Blog, at, post
from tests.servers.documents import rss


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        ({}, set()),
        ({"start": "last", "start_count": 2}, {"c", "b"}),
        ({"start": "last", "start_count": 9}, {"a", "b", "c"}),
        ({"start": "all"}, {"a", "b", "c"}),
    ],
)
def test_the_admin_chooses_what_of_the_first_document_is_sent(
    blog: Blog, options: dict[str, Any], sent: set[str]
) -> None:
    blog.show("c", "b", "a")
    blog.watch(**options)
    result = blog.read(0)
    assert (result.new, result.excluded) == (len(sent), 3 - len(sent))
    assert {guid for guid, state in blog.states().items() if state == "unassigned"} == sent
    for guid in {"a", "b", "c"} - sent:
        assert blog.item(guid).reason == THERE_BEFORE


def test_posts_there_at_the_adding_are_sent_although_they_are_dated_before_it(blog: Blog) -> None:
    blog.show(post("old", published=at(-9999)))
    blog.watch(start="all")
    assert blog.read(0).new == 1


def test_the_first_successful_poll_counts_as_the_adding_whenever_it_comes(blog: Blog) -> None:
    blog.show("b", "a")
    blog.serve("not there yet", status=503)
    blog.watch()
    assert not blog.poll(0).ok
    blog.show("b", "a")
    assert blog.read(600).excluded == 2
    blog.show("c", "b", "a")
    assert blog.read(700).new == 1


def test_the_first_post_of_a_blog_that_was_empty_is_sent(blog: Blog) -> None:
    blog.watch()
    assert blog.read(0).new == 0
    blog.show("first")
    assert blog.read(10).new == 1


def test_the_feed_takes_its_title_site_and_language_from_the_document(blog: Blog) -> None:
    blog.show(title="Ada’s <b>Blog</b>", link="https://ada.example/", language="en_GB")
    feed = blog.watch()
    blog.read(0)
    feed.refresh_from_db()
    assert (feed.title, feed.site_url, feed.language) == ("Ada’s Blog", "https://ada.example/", "en-GB")


def test_a_title_the_admin_gave_stays(blog: Blog) -> None:
    alter_feed(feed=blog.watch(), title="My own words")
    blog.read(0)
    assert blog.feed.title == "My own words"


def test_after_a_change_of_address_the_first_document_counts_as_an_adding(blog: Blog) -> None:
    blog.show("a")
    blog.watch(start="all")
    blog.read(0)
    moved = Blog(blog.server, "/moved.xml")
    moved.show("new-guid-of-b", "new-guid-of-a")
    moved.feed = alter_feed(feed=blog.feed, url=blog.server.url("/moved.xml"))
    assert moved.read(40).excluded == 2
    assert moved.final() == {"a"}, "what waited is sent from what was kept"
    moved.show("c", "new-guid-of-b", "new-guid-of-a")
    assert moved.read(50).new == 1


def test_the_same_bytes_at_another_address_are_read_again(blog: Blog) -> None:
    document = rss([post("a", link="a.html")], link="")
    blog.serve(document)
    blog.watch(start="all")
    blog.read(0)
    alter_feed(feed=blog.feed, url=blog.server.serve("/moved/feed.xml", document))
    assert blog.read(10).changed == 1
    assert blog.item("a").link == blog.server.url("/moved/a.html")


def test_a_changed_address_is_read_at_once_although_the_old_one_failed(blog: Blog) -> None:
    blog.serve("gone", status=404)
    blog.watch()
    for minutes in (0, 100, 200):
        blog.poll(minutes)
    assert blog.feed.next_poll_at > at(200)
    feed = alter_feed(feed=blog.feed, url=blog.server.url("/moved.xml"))
    assert (feed.failures, feed.last_error, feed.failing_since) == (0, "", None)
    assert feed.next_poll_at <= at(200)


def test_a_shorter_interval_takes_effect_at_once(blog: Blog) -> None:
    blog.watch(recheck_every_minutes=10_000)
    blog.read(0)
    assert alter_feed(feed=blog.feed, recheck_every_minutes=20).next_poll_at == at(20)


def test_a_feed_made_active_again_is_no_longer_to_be_dropped(blog: Blog) -> None:
    Feed.objects.filter(pk=blog.watch().pk).update(status="stopped", dropping=True)
    assert not alter_feed(feed=blog.feed, status="active").dropping


@pytest.mark.parametrize(
    "url",
    [
        "",
        "blog.example.org/feed.xml",
        "ftp://blog.example.org/feed.xml",
        "http://",
        "http://[::1/feed.xml",
        "http://blog.example.org:99999/",
        "http://blog.example.org/a\tb",
        "http://blog.example.org/\x00",
        "http://blog.example.org/" + "x" * 4000,
    ],
)
def test_what_is_no_address_is_refused(url: str, db: None) -> None:
    with pytest.raises(ValidationError) as refused:
        add_feed(url=url, now=ADDED)
    assert set(refused.value.message_dict) == {"url"}
    assert not Feed.objects.exists()


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"max_delay_minutes": 29}, "max_delay_minutes"),
        ({"start": "last"}, "start_count"),
        ({"start": "yesterday"}, "start"),
        ({"min_delay_minutes": -1}, "min_delay_minutes"),
        ({"recheck_every_minutes": 10**6}, "recheck_every_minutes"),
        ({"await_stabilization_minutes": "soon"}, "await_stabilization_minutes"),
    ],
)
def test_wrong_settings_are_refused_by_name(options: dict[str, Any], field: str, db: None) -> None:
    with pytest.raises(ValidationError) as refused:
        add_feed(url="https://blog.example.org/", now=ADDED, **options)
    assert field in refused.value.message_dict


def test_only_what_is_the_admins_can_be_altered(blog: Blog) -> None:
    with pytest.raises(ValidationError, match="fetched_through"):
        alter_feed(feed=blog.watch(), fetched_through=None)
