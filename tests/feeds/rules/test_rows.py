"""The in-memory rows of the plan's properties equal the rows that the services write."""

import hashlib
import random
from collections.abc import Iterable
from datetime import datetime, timedelta

import pytest
from django.db import transaction

from feeds.items.held import release
from feeds.models import Feed, FeedDocument, Item
from feeds.parsing.entry import Entry, ParsedFeed
from feeds.parsing.identity import link_hash
from feeds.polling.read import Reading, digest
from feeds.polling.store import prepare, store
from tests.examples import some_now
from tests.factories import FeedFactory
from tests.feeds.rules.blog import ADDED, DONE, START, Blog, Post, Rows

STORIES, STEPS = 20, 40
DELAYS = ((30, 15, 180), (0, 0, 0), (5, 0, 5))


class Story:
    """Random blog, with its feed in the database and the same rows in memory."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        shortest, unchanged, longest = self.chance.choice(DELAYS)
        fields = {
            "added_at": ADDED,
            "start": self.chance.choice(("all", "from_now")),
            "min_delay_minutes": shortest,
            "await_stabilization_minutes": unchanged,
            "max_delay_minutes": longest,
        }
        self.feed = FeedFactory(**fields)
        self.blog = Blog(self.chance.choice((2, 4, 16, 30)), self.chance.choice((2, 6, 30)), appends=False)
        self.rows, self.now = Rows(Feed(**fields)), START

    def post(self) -> Post:
        return self.chance.choice(self.blog.posts[:4])

    def happen(self) -> None:
        """Publish something new, or change one of the newest posts or all."""
        acts = [self.publish, self.publish, self.publish_many, self.bring_back, self.assign, self.clear]
        acts += [self.release, self.give_all_new_ids]
        if self.blog.posts:
            acts += [self.edit, self.withdraw, self.give_a_new_id, self.give_an_old_id, self.share_a_link]
        self.chance.choice(acts)()

    def publish(self) -> None:
        self.blog.publish(None)

    def publish_many(self) -> None:
        for _ in range(12):
            self.blog.publish(None)

    def share_a_link(self) -> None:
        self.blog.publish(None, self.post().link)

    def edit(self) -> None:
        self.post().text += 1

    def withdraw(self) -> None:
        post = self.post()
        self.blog.posts.remove(post)
        self.blog.drafts.append(post)

    def bring_back(self) -> None:
        if self.blog.drafts:
            self.blog.posts.insert(self.chance.randrange(3), self.blog.drafts.pop())

    def give_a_new_id(self) -> None:
        self.post().ids.append(self.blog.new_id())

    def give_all_new_ids(self) -> None:
        for post in self.blog.posts:
            post.ids.append(self.blog.new_id())

    def give_an_old_id(self) -> None:
        ids = self.chance.choice(self.blog.posts + self.blog.drafts).ids
        ids.insert(0, ids.pop())

    def release(self) -> None:
        release(feed_ids=[self.feed.pk], now=self.now)
        for row in self.rows.held():
            self.rows.feed.floods_sent_at = self.now
            self.rows.change(row.pk, held_at=None)

    def assign(self) -> None:
        Item.objects.final().update(state="assigned")
        for row in self.rows.unassigned():
            if row.final_at:
                self.rows.change(row.pk, state="assigned")

    def clear(self) -> None:
        Item.objects.filter(state="assigned").update(state="cleared", entry=None, content_hash="")
        for row in list(self.rows.known.values()):
            if row.state == "assigned":
                self.rows.change(row.pk, state="cleared", content_hash="")

    def read(self) -> None:
        """Poll, or push some of the posts."""
        self.now += timedelta(minutes=self.chance.choice((0, 1, 10, 31, 181)))
        partial = self.rows.feed.first_polled_at is not None and self.chance.random() < 0.3
        shown = self.blog.posts[: self.blog.window]
        if partial:
            shown = [post for post in shown if self.chance.random() < 0.5]
        elif self.chance.random() < 0.05:
            shown = []
        reading = self.reading(shown, partial)
        plan = self.rows.plan(reading.document, self.now, partial=partial)
        self.store(reading)
        self.rows.apply(plan, reading.document, self.now, partial=partial)

    def reading(self, posts: list[Post], partial: bool) -> Reading:
        entries = tuple(
            Entry(
                guid=post.id,
                content=f"Text {post.text}",
                link=f"https://x.example/{post.link.replace(' ', '-')}",
                published=post.published,
            )
            for post in posts[: self.blog.full]
        )
        parsed = ParsedFeed(guids=tuple(post.id for post in posts), entries=entries)
        sha256 = hashlib.sha256(repr(posts).encode()).hexdigest()
        return Reading(b"x", sha256, {}, "https://x.example/", self.now, parsed, partial=partial)

    def store(self, reading: Reading) -> None:
        feed = Feed.objects.get(pk=self.feed.pk)
        recorded = prepare(feed, reading)
        with transaction.atomic():
            feed = Feed.objects.select_for_update().get(pk=feed.pk)
            store(feed, reading, recorded)
            feed.first_polled_at = feed.first_polled_at or self.now
            if not reading.partial:
                feed.fetched_through = self.now
            feed.save()

    def check(self) -> None:
        assert facts(self.rows.known.values()) == facts(in_the_database())
        rows = self.rows.known.values()
        done = {(row.guid_hash, row.state, row.reason) for row in rows if row.state in DONE}
        stored = Item.objects.filter(state__in=DONE)
        assert done == set(stored.values_list("guid_hash", "state", "reason"))
        order = bytes(FeedDocument.objects.get().order).hex()
        assert order == "".join(id_[:32] for id_ in self.rows.previous)
        held_since = Feed.objects.values_list("held_since", flat=True).get()
        assert (held_since is not None) == bool(self.rows.held())


Shown = tuple[str, str, str, datetime, datetime, bool, bool, bool, bool, int]


def facts(items: Iterable[Item]) -> set[Shown]:
    return {
        (
            *(item.guid_hash, item.state, item.content_hash, item.first_seen, item.stable_since),
            *(item.vanished_at is not None, item.rolled_off_at is not None),
            *(item.final_at is not None, item.held_at is not None, item.changes),
        )
        for item in items
        if item.state not in DONE
    }


def in_the_database() -> list[Item]:
    items = list(Item.objects.exclude(state__in=DONE))
    for item in items:
        assert item.entry is not None
        assert item.guid_hash == digest(item.guid) == digest(item.entry["guid"])
        assert item.link_hash == link_hash(item.link)
    return items


@pytest.mark.django_db
@pytest.mark.parametrize("seed", some_now(range(STORIES)))
def test_a_plan_does_to_the_database_what_it_does_in_memory(seed: int) -> None:
    story = Story(seed)
    for _ in range(STEPS):
        story.happen()
        story.read()
        story.check()
