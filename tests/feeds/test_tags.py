"""Tags: unique without regard to case, and none without a feed."""

import pytest
from django.core.exceptions import ValidationError

from feeds.adding.add import add_feed, alter_feed
from feeds.models import Feed, Tag
from feeds.tags import checked_tags, delete_tags, rename_tag, tag_feeds, tags_in, untag_feeds
from tests.factories import NOW, FeedFactory

pytestmark = pytest.mark.django_db


def names(feed: Feed) -> list[str]:
    return [tag.name for tag in feed.tags.all()]


def test_a_feed_is_added_with_its_tags() -> None:
    feed = add_feed(url="https://x.test/", now=NOW, tags=["  News ", "Machine\nlearning"])
    assert names(feed) == ["Machine learning", "News"]


def test_capitals_make_no_other_tag() -> None:
    first = add_feed(url="https://x.test/", now=NOW, tags=["Éclair"])
    second = add_feed(url="https://y.test/", now=NOW, tags=["éclair", "ÉCLAIR"])
    assert names(first) == names(second) == ["Éclair"]
    assert Tag.objects.count() == 1


@pytest.mark.parametrize("name", ["", "  ", "a,b", "x" * 101, "/", "\x00"])
def test_what_is_no_name_is_refused_and_nothing_is_added(name: str) -> None:
    with pytest.raises(ValidationError) as refused:
        add_feed(url="https://x.test/", now=NOW, tags=[name])
    assert set(refused.value.message_dict) == {"tags"}
    assert not Feed.objects.exists()


def test_a_feed_has_at_most_fifty() -> None:
    with pytest.raises(ValidationError, match="at most 50"):
        checked_tags(f"tag {n}" for n in range(51))


def test_a_line_of_tags_is_divided_at_its_commas() -> None:
    assert tags_in(" news, Machine learning,, NEWS ") == ["news", "Machine learning"]


def test_altering_the_tags_replaces_them_and_forgets_those_that_no_feed_has() -> None:
    feed = add_feed(url="https://x.test/", now=NOW, tags=["old", "shared"])
    add_feed(url="https://y.test/", now=NOW, tags=["shared"])
    alter_feed(feed=feed, tags=["new"])
    assert names(feed) == ["new"]
    assert set(Tag.objects.values_list("name", flat=True)) == {"new", "shared"}


def test_a_title_alone_leaves_the_tags() -> None:
    feed = add_feed(url="https://x.test/", now=NOW, tags=["stays"])
    assert names(alter_feed(feed=feed, title="Other")) == ["stays"]


def test_many_feeds_are_tagged_and_those_counted_that_had_it_not() -> None:
    feeds = FeedFactory.create_batch(3)
    keys = [feed.pk for feed in feeds]
    assert tag_feeds(feeds=keys[:1], names=["News"]) == 1
    assert tag_feeds(feeds=keys, names=["news", "more"]) == 3
    assert tag_feeds(feeds=keys, names=["NEWS"]) == 0
    assert [names(feed) for feed in feeds] == [["News", "more"]] * 3


def test_many_feeds_lose_a_tag_and_a_tag_without_feeds_is_gone() -> None:
    keys = [feed.pk for feed in FeedFactory.create_batch(3)]
    tag_feeds(feeds=keys[:2], names=["News", "Tech"])
    assert untag_feeds(feeds=keys, names=["news", "never was"]) == 2
    assert [tag.name for tag in Tag.objects.all()] == ["Tech"]


def test_a_tag_is_renamed_but_not_to_one_there_is() -> None:
    feed = add_feed(url="https://x.test/", now=NOW, tags=["news", "tech"])
    rename_tag(tag=Tag.objects.get(name="news"), name="News ")
    assert names(feed) == ["News", "tech"]
    with pytest.raises(ValidationError) as refused:
        rename_tag(tag=Tag.objects.get(name="News"), name="TECH")
    assert set(refused.value.message_dict) == {"name"}


def test_deleting_tags_leaves_the_feeds() -> None:
    feed = add_feed(url="https://x.test/", now=NOW, tags=["news", "tech"])
    assert delete_tags(tags=[Tag.objects.get(name="news").pk]) == 1
    assert names(feed) == ["tech"]
