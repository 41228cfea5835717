"""A blog whose feed does anything, and the rows of its items in memory: for properties of the plan."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from feeds.rules.finality import Timing
from feeds.rules.plan import Adding, Document, Known, Plan, Seen, plan_document, plan_unchanged

START = datetime(2026, 5, 1, 12, tzinfo=UTC)
ADDED = START - timedelta(minutes=1)
LONG_AGO = START - timedelta(days=300)


@dataclass
class Post:
    id: str
    text: int = 0
    published: datetime | None = None


@dataclass
class Blog:
    """`posts` are newest first; the feed shows the first `window` of them, `full` of those in full."""

    window: int
    full: int
    appends: bool
    posts: list[Post] = field(default_factory=list)
    drafts: list[Post] = field(default_factory=list)
    made: int = 0

    def publish(self, published: datetime | None) -> None:
        self.made += 1
        self.posts.insert(0, Post(f"{self.made:04}", published=published))

    def document(self) -> Document:
        shown = self.posts[: self.window]
        entries = {post.id: Seen(f"text {post.text}", post.published) for post in shown[: self.full]}
        order = [post.id for post in shown]
        return Document(tuple(reversed(order) if self.appends else order), entries)


@dataclass
class Rows:
    """What the database would hold. Applying a plan does here what the service does there."""

    timing: Timing
    known: dict[int, Known] = field(default_factory=dict)
    previous: list[str] = field(default_factory=list)
    polled: bool = False

    def plan(self, document: Document, adding: Adding, moment: datetime) -> Plan:
        done = {row.id for row in self.known.values() if row.state in ("cleared", "excluded")}
        return plan_document(
            document,
            [row for row in self.known.values() if row.id not in done],
            done=done,
            previous=self.previous,
            timing=self.timing,
            added_at=ADDED,
            adding=None if self.polled else adding,
            moment=moment,
        )

    def plan_unchanged(self, moment: datetime) -> Plan:
        return plan_unchanged(self.known.values(), timing=self.timing, moment=moment)

    def apply(self, plan: Plan, document: Document, moment: datetime) -> None:
        for insert in plan.insert:
            pk = len(self.known) + 1
            state = "excluded" if insert.excluded else "unassigned"
            hash_ = "" if insert.excluded else document.entries[insert.id].content_hash
            self.known[pk] = Known(pk, insert.id, state, hash_, moment, moment, final=insert.final)
        for pk, id_ in plan.rewrite.items():
            self.change(pk, content_hash=document.entries[id_].content_hash)
        for pk, id_ in plan.restart.items():
            hash_ = document.entries[id_].content_hash
            self.change(pk, content_hash=hash_, first_seen=moment, stable_since=moment)
            self.change(pk, vanished=False, rolled_off=False, final=False)
        for pks, changes in (
            (plan.unsettle, {"stable_since": moment}),
            (plan.roll_back, {"rolled_off": False}),
            (plan.roll_off, {"rolled_off": True}),
            (plan.finalise, {"final": True}),
            (plan.vanish, {"vanished": True, "final": False}),
        ):
            for pk in pks:
                self.change(pk, **changes)
        self.polled = True
        if document.order:
            self.previous = document.newest_first()

    def change(self, pk: int, **changes: object) -> None:
        self.known[pk] = replace(self.known[pk], **changes)  # type: ignore[arg-type]

    def unassigned(self) -> list[Known]:
        return [row for row in self.known.values() if row.state == "unassigned" and not row.vanished]
