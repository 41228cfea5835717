"""Posts with the same guid or link: each is new once, whatever appears or disappears beside it."""

import hashlib
import random
from datetime import timedelta

import pytest
from django.db import transaction

from feeds.items.held import include_item
from feeds.models import Feed, FeedDocument, Item
from feeds.parsing.document import parse
from feeds.polling import known_items
from feeds.polling.read import Reading
from feeds.polling.store import prepare, store
from feeds.rules.plan import NAMESAKE, THERE_BEFORE
from tests.examples import some_now
from tests.factories import FeedFactory
from tests.feeds.histories.history import ADDED, Post, document, post

SECOND_DATABASE = False

pytestmark = pytest.mark.django_db

URL = "https://blog.example/feed.xml"
PAGE = "https://blog.example/"


@pytest.fixture
def feed() -> Feed:
    feed: Feed = FeedFactory(added_at=ADDED, start="from_now", min_delay_minutes=0, hold_floods=False)
    return feed


def read(feed: Feed, *shown: Post, minute: int, partial: bool = False) -> None:
    body = document(*shown)
    parsed = parse(body, content_type="", url=URL)
    now = ADDED + timedelta(minutes=minute)
    sha256 = hashlib.sha256(body).hexdigest()
    reading = Reading(body, sha256, {"url": URL}, URL, now, parsed, partial=partial)
    feed.refresh_from_db()
    rows = prepare(feed, reading)
    with transaction.atomic():
        store(feed, reading, rows)
        feed.first_polled_at, feed.fetched_through = feed.first_polled_at or now, now
        feed.save()


def new(feed: Feed) -> list[str]:
    return sorted(
        Item.objects.unassigned().filter(feed=feed, vanished_at=None).values_list("title", flat=True)
    )


def excluded(feed: Feed) -> dict[str, str]:
    return dict(Item.objects.filter(feed=feed, state="excluded").values_list("title", "reason"))


def alike(name: str) -> Post:
    return post(name, guid="one")


class Story:
    """Blog in which a few posts have one of two guids, or none and the same link."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.link = self.chance.choice((PAGE, ""))
        self.shown: list[Post] = []
        self.gone: list[Post] = []
        self.count = 0
        self.seen: set[str] = set()
        self.shared: set[str] = set()

    def publish(self, place: int = 0) -> None:
        self.count += 1
        name = f"p{self.count}"
        guid = self.chance.choice(("x", "y", "" if self.link else "x", name))
        beside = guid in self.shared or any(one.get("guid", "") == guid for one in self.shown)
        if guid in self.seen and not beside:
            # Successive posts with one guid, never two at once, are indistinguishable from an edit.
            guid = name
        self.seen.add(guid)
        self.shown.insert(place, post(name, guid=guid or None, **({"link": self.link} if self.link else {})))

    def happen(self) -> None:
        act = self.chance.choice(("publish", "publish", "append", "leave", "return", "turn"))
        if act == "publish":
            self.publish()
            self.publish()
        elif act == "append":
            self.publish(len(self.shown))
        elif act == "leave" and len(self.shown) > 2:
            self.gone.append(self.shown.pop(self.chance.randrange(len(self.shown))))
        elif act == "return" and self.gone:
            self.shown.insert(self.chance.randrange(len(self.shown) + 1), self.gone.pop())
        elif act == "turn":
            self.chance.shuffle(self.shown)
        guids = [one.get("guid", "") for one in self.shown]
        self.shared |= {guid for guid in guids if guids.count(guid) > 1}


@pytest.mark.parametrize("seed", some_now(range(20)))
def test_each_post_that_comes_is_new_once(feed: Feed, seed: int) -> None:
    story = Story(seed)
    for _ in range(3):
        story.publish()
    first = {one["title"] for one in story.shown}
    for step in range(20):
        if step:
            story.happen()
        read(feed, *story.shown, minute=10 * step)
    stored = Item.objects.filter(feed=feed, state="unassigned").values_list("title", flat=True)
    every = {f"p{number + 1}" for number in range(story.count)}
    shown = {one["title"] for one in (*story.shown, *story.gone)}
    assert sorted(stored) == sorted(every & shown - first)
    assert set(excluded(feed).values()) == {THERE_BEFORE}


def test_after_an_upgrade_what_the_kept_document_cannot_tell_is_not_new(feed: Feed) -> None:
    read(feed, alike("b"), alike("a"), minute=0)
    Item.objects.filter(feed=feed).exclude(guid="one").delete()
    FeedDocument.objects.update(channel={}, body=b"not what it was")
    read(feed, alike("c"), alike("b"), alike("a"), minute=10)
    read(feed, alike("d"), alike("c"), alike("b"), alike("a"), minute=20)
    assert new(feed) == ["d"]


def test_what_was_there_before_can_be_sent_after_all(feed: Feed) -> None:
    read(feed, alike("b"), alike("a"), minute=0)
    Item.objects.filter(feed=feed).exclude(guid="one").delete()
    FeedDocument.objects.update(channel={})
    read(feed, alike("c"), alike("b"), alike("a"), minute=10)
    assert excluded(feed) == {"b": THERE_BEFORE, "a": NAMESAKE}
    said = include_item(item_id=Item.objects.get(title="a").pk, now=ADDED)
    assert "will be sent" in said
    read(feed, alike("c"), alike("b"), alike("a"), minute=20)
    assert new(feed) == ["a", "c"]


def test_a_push_brings_what_is_new_and_leaves_the_others_what_they_are(feed: Feed) -> None:
    read(feed, alike("b"), alike("a"), minute=0)
    read(feed, alike("c"), minute=10, partial=True)
    read(feed, alike("d"), alike("c"), alike("b"), alike("a"), minute=20)
    assert new(feed) == ["c", "d"]


def test_a_push_may_be_the_first_that_shows_two_with_one_guid(feed: Feed) -> None:
    read(feed, alike("a"), minute=0)
    read(feed, alike("b"), alike("a"), minute=10, partial=True)
    read(feed, alike("b"), minute=20)
    assert (new(feed), excluded(feed)) == (["b"], {"a": THERE_BEFORE})


def test_the_memory_of_shared_guids_is_bounded_and_keeps_those_that_the_feed_has(
    feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_items, "HOLDERS_AT_MOST", 2)
    for number in range(4):
        pair = [post(f"{number}{name}", guid=f"guid {number}") for name in "ab"]
        read(feed, *pair, minute=10 * number)
    assert len(FeedDocument.objects.get(feed=feed).channel["holders"]) == 2
    read(feed, post("3c", guid="guid 3"), *pair, minute=50)
    assert new(feed) == ["1a", "1b", "2a", "2b", "3a", "3b", "3c"]
