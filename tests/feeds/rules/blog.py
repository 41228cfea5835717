"""Blog with a feed that does anything, and its item rows in memory, for properties of the plan."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from feeds.parsing.likeness import UNLIKE, Likeness
from feeds.rules.facts import Adding, Document, Insert, KnownItem, PollPlan, Seen
from feeds.rules.finality import Timing
from feeds.rules.plan import plan_document, plan_unchanged
from feeds.rules.reposts import REPOST, Former

START = datetime(2026, 5, 1, 12, tzinfo=UTC)
ADDED = START - timedelta(minutes=1)
LONG_AGO = START - timedelta(days=300)


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

    timing: Timing
    known: dict[int, KnownItem] = field(default_factory=dict)
    links: dict[int, str] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)
    previous: list[str] = field(default_factory=list)
    published: dict[int, datetime | None] = field(default_factory=dict)
    likes: dict[int, Likeness] = field(default_factory=dict)
    polled: bool = False
    # A flood of it was released.
    floods_sent: bool = False
    read_at: datetime | None = None
    made: int = 0

    def plan(
        self, document: Document, adding: Adding, moment: datetime, *, partial: bool = False
    ) -> PollPlan:
        done = {row.id for row in self.known.values() if row.state in ("cleared", "excluded")}
        return plan_document(
            document,
            [row for row in self.known.values() if row.id not in done],
            done=done,
            reposts={self.known[pk].id for pk in self.reposts()},
            formers=[
                Former(pk, row.id, self.links[pk], pk in self.reposts(), self.published[pk], self.likes[pk])
                for pk, row in self.known.items()
                if self.links.get(pk)
            ],
            previous=self.previous,
            timing=self.timing,
            added_at=ADDED,
            adding=None if self.polled else adding,
            moment=moment,
            read_at=self.read_at,
            hold_floods=True,
            floods_sent=self.floods_sent,
            partial=partial,
        )

    def plan_unchanged(self, moment: datetime) -> PollPlan:
        return plan_unchanged(self.known.values(), timing=self.timing, moment=moment)

    def reposts(self) -> set[int]:
        return {pk for pk, why in self.reasons.items() if why == REPOST}

    def apply(self, plan: PollPlan, document: Document, moment: datetime, *, partial: bool = False) -> None:
        for pk, id_ in plan.rekey.items():
            self._rekey(pk, id_)
            entry = document.entries[id_]
            self.links[pk], self.published[pk], self.likes[pk] = entry.link, entry.published, entry.like
        for insert in plan.insert:
            self._insert(insert, document, moment)
        for pk, id_ in plan.rewrite.items():
            changes = self.known[pk].changes + (not partial)
            self.change(pk, content_hash=document.entries[id_].content_hash, changes=changes)
        for pk, id_ in plan.restart.items():
            hash_ = document.entries[id_].content_hash
            since = self.known[pk].first_seen if pk in plan.flicker else moment
            self.change(pk, content_hash=hash_, first_seen=since, stable_since=moment)
            self.change(pk, vanished=False, rolled_off=False, final=False, changes=0)
            self.change(pk, returns=self.known[pk].returns + 1)
        for pks, changed in (
            (plan.unsettle, {"stable_since": moment}),
            (plan.calm, {"changes": 0}),
            (plan.roll_back, {"rolled_off": False}),
            (plan.roll_off, {"rolled_off": True}),
            (plan.finalise, {"final": True}),
            (plan.vanish, {"vanished": True, "final": False}),
        ):
            for pk in pks:
                self.change(pk, **changed)
        for pk in plan.drop:
            self.exclude(pk, "dropped")
        for pk in plan.forget:
            self._delete(pk)
        self._keep_order(plan, document, partial)
        self.polled = True
        if not partial:
            self.read_at = moment

    def _rekey(self, pk: int, id_: str) -> None:
        (given_way,) = [old for old in self.reposts() if self.known[old].id == id_] or [0]
        if given_way:
            self._delete(given_way)
        row = self.known[pk]
        self.change(pk, id=id_)
        self.made += 1
        left = KnownItem(self.made, row.id, "excluded", "", row.first_seen, row.stable_since)
        self.known[self.made] = left
        self.links[self.made], self.reasons[self.made] = self.links[pk], REPOST
        self.published[self.made], self.likes[self.made] = self.published[pk], self.likes[pk]

    def _insert(self, insert: Insert, document: Document, moment: datetime) -> None:
        assert insert.id not in {row.id for row in self.known.values()}, "an id has one row"
        self.made += 1
        entry = document.entries.get(insert.id)
        state = "excluded" if insert.excluded else "unassigned"
        hash_ = "" if insert.excluded or entry is None else entry.content_hash
        self.known[self.made] = KnownItem(
            self.made, insert.id, state, hash_, moment, moment, final=insert.final, held=insert.held
        )
        self.links[self.made] = entry.link if entry else ""
        self.published[self.made] = entry.published if entry else None
        self.likes[self.made] = entry.like if entry else UNLIKE
        if insert.excluded:
            self.reasons[self.made] = insert.excluded

    def _keep_order(self, plan: PollPlan, document: Document, partial: bool) -> None:
        order = document.newest_first()
        if partial:
            brought = {insert.id for insert in plan.insert}.union(plan.restart.values())
            self.previous = [id_ for id_ in order if id_ in brought] + self.previous
        elif order:
            self.previous = order

    def _delete(self, pk: int) -> None:
        for rows in (self.known, self.links, self.reasons, self.published, self.likes):
            rows.pop(pk, None)

    def change(self, pk: int, **changes: object) -> None:
        self.known[pk] = replace(self.known[pk], **changes)  # type: ignore[arg-type]

    def exclude(self, pk: int, reason: str) -> None:
        self.change(pk, state="excluded", held=False, final=False, rolled_off=False, content_hash="")
        self.reasons[pk] = reason

    def unassigned(self) -> list[KnownItem]:
        return [row for row in self.known.values() if row.waits]

    def held(self) -> list[KnownItem]:
        return [row for row in self.unassigned() if row.held]
