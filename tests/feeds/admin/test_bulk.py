"""Bulk actions on feeds, with counts and an undo for pausing; the pages of tags."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from feeds.models import Feed, Tag
from feeds.tags import tag_feeds
from tests.factories import NOW, FeedFactory
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer

pytestmark = pytest.mark.django_db
LIST = reverse("admin:feeds_feed_changelist")


def act(client: Client, action: str, feeds: list[Any], **data: Any) -> str:
    posted = {"action": action, "_selected_action": [feed.pk for feed in feeds], **data}
    return str(client.post(LIST, posted, follow=True).content.decode())


def names(feed: Feed) -> list[str]:
    return [tag.name for tag in feed.tags.all()]


def test_tags_are_asked_for_and_then_given_to_all(admin_client: Client) -> None:
    feeds = FeedFactory.create_batch(3)
    tag_feeds(feeds=[feeds[0].pk], names=["News"])
    asked = act(admin_client, "add_tags", feeds)
    assert "3 feeds will get these tags" in asked
    assert "Existing tags: News." in asked
    said = act(admin_client, "add_tags", feeds, **{"confirmed": "1", "with-names": "news"})
    assert "2 feeds got the tag “news”. 1 had it already." in said
    assert [names(feed) for feed in feeds] == [["News"]] * 3


def test_a_wrong_tag_is_asked_for_again_with_the_feeds_kept(admin_client: Client) -> None:
    feeds = FeedFactory.create_batch(2)
    again = act(admin_client, "add_tags", feeds, **{"confirmed": "1", "with-names": ""})
    assert "Enter at least one tag." in again
    kept = re.findall(r'name="_selected_action" value="(\d+)"', again)
    assert {int(key) for key in kept} == {feed.pk for feed in feeds}
    assert not Tag.objects.exists()


def test_only_tags_that_they_have_are_offered_to_be_removed(admin_client: Client) -> None:
    one, other = FeedFactory.create_batch(2)
    tag_feeds(feeds=[one.pk], names=["News"])
    tag_feeds(feeds=[other.pk], names=["Tech"])
    asked = act(admin_client, "remove_tags", [one])
    assert 'value="News"' in asked
    assert 'value="Tech"' not in asked
    said = act(admin_client, "remove_tags", [one], **{"confirmed": "1", "with-names": ["News"]})
    assert "1 feed lost the tag “News”." in said
    assert names(one) == []
    assert [tag.name for tag in Tag.objects.all()] == ["Tech"]


def test_the_pace_of_many_is_changed_and_what_is_left_empty_stays(admin_client: Client) -> None:
    feeds = FeedFactory.create_batch(
        2, last_polled_at=NOW, next_poll_at=NOW + timedelta(days=9), recheck_every_minutes=99
    )
    data = {
        "confirmed": "1",
        "with-pace": "adaptive",
        "with-recheck_every_minutes": "20",
        "with-ceiling_minutes": "",
    }
    assert "2 feeds changed." in act(admin_client, "change_pace", feeds, **data)
    for feed in Feed.objects.all():
        assert (feed.pace, feed.recheck_every_minutes, feed.ceiling_minutes) == ("adaptive", 20, 60)
        assert feed.next_poll_at == NOW + timedelta(minutes=20), "not only from the next reading on"


@pytest.mark.parametrize(
    "data",
    [{}, {"with-recheck_every_minutes": "-1"}, {"with-pace": "hectic"}, {"with-ceiling_minutes": "999999"}],
)
def test_a_pace_that_makes_no_sense_is_asked_for_again(admin_client: Client, data: dict[str, str]) -> None:
    page = act(admin_client, "change_pace", [FeedFactory()], confirmed="1", **data)
    assert "How should 1 feed be read?" in page
    assert Feed.objects.get().pace == "fixed"


def test_pausing_says_how_many_and_can_be_undone(admin_client: Client) -> None:
    was_paused = FeedFactory(status="paused")
    feeds = FeedFactory.create_batch(2)
    said = act(admin_client, "pause", [*feeds, was_paused])
    assert "2 feeds paused" in said
    undo = re.search(r'<form method="post" action="([^"]+)" class="fl-undo">(.*?)</form>', said, re.DOTALL)
    assert undo is not None
    keys = re.findall(r'name="_selected_action" value="(\d+)"', undo[2])
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = admin_client.cookies
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', undo[2])
    assert token is not None
    data = {"csrfmiddlewaretoken": token[1], "index": "0", "_selected_action": keys, "action": "resume"}
    answer = strict.post(undo[1], data, follow=True)
    assert "2 feeds resumed" in answer.content.decode()
    assert Feed.objects.get(pk=was_paused.pk).status == "paused", "as it was before"
    assert Feed.objects.filter(status="active").count() == 2


@pytest.mark.usefixtures("loopback_allowed")
@pytest.mark.django_db
def test_starting_over_reads_failing_feeds_whatever_their_back_off(admin_client: Client) -> None:
    later = NOW + timedelta(days=3000)
    with FeedServer() as server:
        server.serve("/feed.xml", rss([{"guid": "1", "title": "A"}]))
        failing = [
            FeedFactory(
                url=server.url(f"/feed.xml?{n}"),
                failures=9,
                failing_since=NOW,
                last_error="x",
                next_poll_at=later,
            )
            for n in range(7)
        ]
        well = FeedFactory(url=server.url("/feed.xml"), next_poll_at=later)
        said = act(admin_client, "start_over", [*failing, well])
        assert said.count("The feed was read") == 5
        assert "2 more failing feeds will be read in a moment." in said
        assert not server.asked("/feed.xml"), "the one that does well was left alone"
    assert Feed.objects.filter(failures=0).count() == 6
    assert Feed.objects.filter(next_poll_at=later).get() == well


def test_the_list_shows_and_filters_by_tags(admin_client: Client) -> None:
    one, other = FeedFactory(title="One"), FeedFactory(title="Other")
    tag_feeds(feeds=[one.pk], names=["<News>"])
    own = reverse("admin:feeds_feed_change", args=[one.pk])
    asked = [act(admin_client, action, [one]) for action in ("add_tags", "remove_tags")]
    for page in (*(admin_client.get(url).content.decode() for url in (LIST, own)), *asked):
        assert "&lt;News&gt;" in page
        assert "<News>" not in page
    page = admin_client.get(LIST).content.decode()
    key = Tag.objects.get().pk
    page = admin_client.get(f"{LIST}?tag={key}").content.decode()
    assert reverse("admin:feeds_feed_change", args=[one.pk]) in page
    assert reverse("admin:feeds_feed_change", args=[other.pk]) not in page
    for odd in ("x", "-1", "9" * 40):
        assert admin_client.get(f"{LIST}?tag={odd}").status_code == 200


def test_a_tags_page_lists_its_feeds_and_renames_it(admin_client: Client) -> None:
    tag_feeds(feeds=[FeedFactory(title="One").pk, FeedFactory().pk], names=["News", "Tech"])
    tag = Tag.objects.get(name="News")
    listed = admin_client.get(reverse("admin:feeds_tag_changelist")).content.decode()
    assert f'href="{LIST}?tag={tag.pk}">2</a>' in listed
    url = reverse("admin:feeds_tag_change", args=[tag.pk])
    page = admin_client.get(url).content.decode()
    assert "One" in page
    assert "See 2 feeds in the list" in page
    assert "There is a tag “Tech” already." in admin_client.post(url, {"name": "tech"}).content.decode()
    admin_client.post(url, {"name": "Headlines"})
    assert Tag.objects.get(pk=tag.pk).name == "Headlines"


def test_a_tag_is_deleted_after_it_said_of_how_many(admin_client: Client) -> None:
    feed = FeedFactory()
    tag_feeds(feeds=[feed.pk], names=["News"])
    data = {"action": "drop", "_selected_action": [Tag.objects.get().pk]}
    url = reverse("admin:feeds_tag_changelist")
    assert "removed from 1 feed" in admin_client.post(url, data).content.decode()
    admin_client.post(url, {**data, "confirmed": "1"})
    assert not Tag.objects.exists()
    assert Feed.objects.get() == feed


def test_the_form_of_a_feed_changes_its_tags_and_how_it_is_read(admin_client: Client) -> None:
    feed = FeedFactory()
    tag_feeds(feeds=[feed.pk], names=["Old", "Kept"])
    url = reverse("admin:feeds_feed_change", args=[feed.pk])
    assert 'value="Kept, Old"' in admin_client.get(url).content.decode()
    data = {
        "url": feed.url,
        "title": feed.title,
        "tags": "kept, New",
        "pace": "adaptive",
        "ceiling_minutes": "240",
        "min_delay_minutes": "30",
        "await_stabilization_minutes": "15",
        "max_delay_minutes": "180",
        "recheck_every_minutes": "10",
        "join_reposts": "on",
    }
    assert admin_client.post(url, data).status_code == 302
    feed.refresh_from_db()
    assert names(feed) == ["Kept", "New"]
    assert (feed.pace, feed.ceiling_minutes) == ("adaptive", 240)
    assert (feed.hold_floods, feed.join_reposts, feed.use_hub) == (False, True, False)
