"""The in-memory rows of the plan's properties equal the rows that the services write."""

import hashlib
import random
from datetime import datetime, timedelta

import pytest
from django.db import transaction

from feeds.items.held import release
from feeds.models import Feed, FeedDocument, Item
from feeds.parsing.entry import Entry, ParsedFeed
from feeds.parsing.identity import link_hash
from feeds.polling.read import Reading, digest
from feeds.polling.store import prepare, store
from feeds.rules.facts import Adding
from feeds.rules.finality import Timing
from tests.examples import some_now
from tests.factories import FeedFactory
from tests.feeds.rules.blog import ADDED, START, Blog, Post, Rows

STORIES, STEPS = 20, 40
TIMINGS = (Timing(30, 15, 180), Timing(0, 0, 0), Timing(5, 0, 5))


class Story:
    """Random blog, with its feed in the database and the same rows in memory."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        timing, self.start = self.chance.choice(TIMINGS), self.chance.choice(("all", "from_now"))
        self.feed = FeedFactory(
            added_at=ADDED,
            start=self.start,
            min_delay_minutes=timing.min_delay,
            await_stabilization_minutes=timing.await_stabilization,
            max_delay_minutes=timing.max_delay,
        )
        self.blog = Blog(self.chance.choice((2, 4, 16, 30)), self.chance.choice((2, 6, 30)), appends=False)
        self.rows, self.now = Rows(timing), START

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
        self.rows.floods_sent |= bool(self.rows.held())
        for row in self.rows.held():
            self.rows.change(row.pk, held=False)

    def assign(self) -> None:
        Item.objects.final().update(state="assigned")
        for row in self.rows.unassigned():
            if row.final:
                self.rows.change(row.pk, state="assigned")

    def clear(self) -> None:
        Item.objects.filter(state="assigned").update(state="cleared", entry=None, content_hash="")
        for row in list(self.rows.known.values()):
            if row.state == "assigned":
                self.rows.change(row.pk, state="cleared", content_hash="")

    def read(self) -> None:
        """Poll, or push some of the posts."""
        self.now += timedelta(minutes=self.chance.choice((0, 1, 10, 31, 181)))
        partial = self.rows.polled and self.chance.random() < 0.3
        shown = self.blog.posts[: self.blog.window]
        if partial:
            shown = [post for post in shown if self.chance.random() < 0.5]
        elif self.chance.random() < 0.05:
            shown = []
        reading = self.reading(shown, partial)
        plan = self.rows.plan(reading.document, Adding(self.start), self.now, partial=partial)
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
        assert in_memory(self.rows) == in_the_database()
        reasons = self.rows.reasons
        done = {
            (row.id, row.state, reasons.get(pk, ""))
            for pk, row in self.rows.known.items()
            if row.state in ("cleared", "excluded")
        }
        stored = Item.objects.filter(state__in=("cleared", "excluded"))
        assert done == set(stored.values_list("guid_hash", "state", "reason"))
        order = bytes(FeedDocument.objects.get().order).hex()
        assert order == "".join(id_[:32] for id_ in self.rows.previous)
        held_since = Feed.objects.values_list("held_since", flat=True).get()
        assert (held_since is not None) == bool(self.rows.held())


Shown = tuple[str, str, str, datetime, datetime, bool, bool, bool, bool, int]


def in_memory(rows: Rows) -> set[Shown]:
    return {
        (
            *(row.id, row.state, row.content_hash, row.first_seen, row.stable_since),
            *(row.vanished, row.rolled_off, row.final, row.held, row.changes),
        )
        for row in rows.known.values()
        if row.state in ("unassigned", "assigned")
    }


def in_the_database() -> set[Shown]:
    shown = set()
    for item in Item.objects.filter(state__in=("unassigned", "assigned")):
        assert item.entry is not None
        assert item.guid_hash == digest(item.guid) == digest(item.entry["guid"])
        assert item.link_hash == link_hash(item.link)
        facts = (item.guid_hash, item.state, item.content_hash, item.first_seen, item.stable_since)
        moments = (item.vanished_at, item.rolled_off_at, item.final_at, item.held_at)
        vanished, rolled_off, final, held = (moment is not None for moment in moments)
        shown.add((*facts, vanished, rolled_off, final, held, item.changes))
    return shown


@pytest.mark.django_db
@pytest.mark.parametrize("seed", some_now(range(STORIES)))
def test_a_plan_does_to_the_database_what_it_does_in_memory(seed: int) -> None:
    story = Story(seed)
    for _ in range(STEPS):
        story.happen()
        story.read()
        story.check()
