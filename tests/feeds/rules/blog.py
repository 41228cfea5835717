"""Blog with a feed that does anything, and its item rows in memory, for properties of the plan."""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from feeds.models import Feed, Item
from feeds.rules.facts import Document, Insert, Known, PollPlan, Seen
from feeds.rules.plan import plan_document, plan_unchanged
from feeds.rules.reposts import REPOST

START = datetime(2026, 5, 1, 12, tzinfo=UTC)
ADDED = START - timedelta(minutes=1)
LONG_AGO = START - timedelta(days=300)
DONE = ("cleared", "excluded")


def a_feed(shortest: int = 30, unchanged: int = 15, longest: int = 180, **fields: Any) -> Feed:
    """Return an unsaved feed that was read before."""
    delays = {"min_delay_minutes": shortest, "await_stabilization_minutes": unchanged}
    given = {"added_at": ADDED, "first_polled_at": LONG_AGO, **fields}
    return Feed(**delays, max_delay_minutes=longest, **given)


def an_item(pk: int, id_: str, state: str, content_hash: str, since: datetime, **are: bool) -> Item:
    """Return an unsaved item. `are`: moments, such as `held`."""
    given: dict[str, Any] = {f"{name}_at": since for name, is_so in are.items() if is_so}
    given |= {"guid_hash": id_, "state": state, "content_hash": content_hash}
    return Item(pk=pk, first_seen=since, stable_since=since, **given)


@dataclass
class Post:
    """Post. `ids` are all its ids, the present one last."""

    ids: list[str]
    link: str
    text: int = 0
    published: datetime | None = None

    @property
    def id(self) -> str:
        return self.ids[-1]


@dataclass
class Blog:
    """Blog. `posts` are newest first; the feed shows the first `window`, and `full` of these in full."""

    window: int
    full: int
    appends: bool
    posts: list[Post] = field(default_factory=list)
    drafts: list[Post] = field(default_factory=list)
    made: int = 0

    def publish(self, published: datetime | None, link: str = "") -> None:
        id_ = self.new_id()
        self.posts.insert(0, Post([id_], link or f"link of {id_}", published=published))

    def new_id(self) -> str:
        self.made += 1
        return f"{self.made:04}"

    def document(self) -> Document:
        return self._document(self.posts[: self.window])

    def pushed(self, places: set[int]) -> Document:
        """Return the document that a hub pushes."""
        shown = [post for place, post in enumerate(self.posts[: self.window]) if place in places]
        return self._document(shown)

    def _document(self, shown: list[Post]) -> Document:
        entries = {
            post.id: Seen(f"text {post.text}", post.published, post.link) for post in shown[: self.full]
        }
        order = [post.id for post in shown]
        return Document(tuple(reversed(order) if self.appends else order), entries)


@dataclass
class Rows:
    """Rows as in the database. Applies a plan as the service does."""

    feed: Feed
    known: dict[int, Item] = field(default_factory=dict)
    previous: list[str] = field(default_factory=list)
    made: int = 0

    def __post_init__(self) -> None:
        self.feed.first_polled_at = None

    def plan(self, document: Document, moment: datetime, *, partial: bool = False) -> PollPlan:
        done = {row.guid_hash for row in self.known.values() if row.state in DONE}
        known = Known(
            [row for row in self.known.values() if row.guid_hash not in done],
            done,
            {row.guid_hash for row in self.reposts()},
            formers=[row for row in self.known.values() if row.link_hash],
            order=self.previous,
        )
        return plan_document(document, known, self.feed, moment=moment, partial=partial)

    def plan_unchanged(self, moment: datetime) -> PollPlan:
        return plan_unchanged(Known(list(self.known.values())), self.feed, moment=moment)

    def reposts(self) -> Iterator[Item]:
        return (row for row in self.known.values() if row.reason == REPOST)

    def apply(self, plan: PollPlan, document: Document, moment: datetime, *, partial: bool = False) -> None:
        for pk, id_ in plan.rekey.items():
            self._rekey(pk, id_)
            self._describe(self.known[pk], document.entries[id_])
        for insert in plan.insert:
            self._insert(insert, document, moment)
        for pk, id_ in plan.rewrite.items():
            changes = self.known[pk].changes + (not partial)
            self.change(pk, content_hash=document.entries[id_].content_hash, changes=changes)
        for pk, id_ in plan.restart.items():
            hash_ = document.entries[id_].content_hash
            since = self.known[pk].first_seen if pk in plan.flicker else moment
            self.change(pk, content_hash=hash_, first_seen=since, stable_since=moment)
            self.change(pk, vanished_at=None, rolled_off_at=None, final_at=None, changes=0)
            self.change(pk, returns=self.known[pk].returns + 1)
        changed: dict[str, Any]
        for pks, changed in (
            (plan.unsettle, {"stable_since": moment}),
            (plan.calm, {"changes": 0}),
            (plan.roll_back, {"rolled_off_at": None}),
            (plan.roll_off, {"rolled_off_at": moment}),
            (plan.finalise, {"final_at": moment}),
            (plan.vanish, {"vanished_at": moment, "final_at": None}),
        ):
            for pk in pks:
                self.change(pk, **changed)
        for pk in plan.drop:
            self.exclude(pk, "dropped")
        for pk in plan.forget:
            del self.known[pk]
        self._keep_order(plan, document, partial)
        self.feed.first_polled_at = self.feed.first_polled_at or moment
        if not partial:
            self.feed.fetched_through = moment

    def _rekey(self, pk: int, id_: str) -> None:
        for old in [row.pk for row in self.reposts() if row.guid_hash == id_]:
            del self.known[old]
        self.made += 1
        left = copy(self.known[pk])
        left.pk, left.state, left.reason, left.content_hash = self.made, "excluded", REPOST, ""
        self.known[self.made] = left
        self.change(pk, guid_hash=id_)

    def _insert(self, insert: Insert, document: Document, moment: datetime) -> None:
        assert insert.id not in {row.guid_hash for row in self.known.values()}, "an id has one row"
        self.made += 1
        entry = document.entries.get(insert.id)
        state = "excluded" if insert.excluded else "unassigned"
        hash_ = "" if insert.excluded or entry is None else entry.content_hash
        are = {"final": insert.final, "held": insert.held}
        row = an_item(self.made, insert.id, state, hash_, moment, **are)
        row.reason = insert.excluded
        if entry:
            self._describe(row, entry)
        self.known[self.made] = row

    @staticmethod
    def _describe(row: Item, entry: Seen) -> None:
        row.link_hash, row.published_at, row.like = entry.link, entry.published, entry.like

    def _keep_order(self, plan: PollPlan, document: Document, partial: bool) -> None:
        order = document.newest_first()
        if partial:
            brought = {insert.id for insert in plan.insert}.union(plan.restart.values())
            self.previous = [id_ for id_ in order if id_ in brought] + self.previous
        elif order:
            self.previous = order

    def change(self, pk: int, **changes: object) -> None:
        self.known[pk] = copy(self.known[pk])
        for name, value in changes.items():
            setattr(self.known[pk], name, value)

    def exclude(self, pk: int, reason: str) -> None:
        self.change(pk, state="excluded", held_at=None, final_at=None, rolled_off_at=None, content_hash="")
        self.change(pk, reason=reason)

    def unassigned(self) -> list[Item]:
        return [row for row in self.known.values() if row.waits]

    def held(self) -> list[Item]:
        return [row for row in self.unassigned() if row.held_at]
