"""Whatever a feed does: an item is assigned at most once, never too early, never once it was withdrawn."""

from collections import Counter
from datetime import datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from feeds.rules.finality import Timing
from feeds.rules.plan import Adding, Document, Known, Plan
from tests.feeds.rules.blog import LONG_AGO, START, Blog, Rows

TIMINGS = (Timing(30, 15, 180), Timing(0, 0, 0), Timing(0, 10, 20), Timing(5, 0, 5), Timing(20, 60, 40))
STARTS = (Adding("all"), Adding("last", 2), Adding("from_now"))
ANY = st.integers(0, 7)
LATER = st.sampled_from((0, 1, 10, 16, 31, 61, 181))


class FeedStory(RuleBasedStateMachine):
    """Notes by itself what each poll showed of each post, and holds the plans against that."""

    @initialize(
        timing=st.sampled_from(TIMINGS),
        adding=st.sampled_from(STARTS),
        window=st.integers(1, 6),
        full=st.integers(1, 6),
        appends=st.booleans(),
    )
    def begin(self, timing: Timing, adding: Adding, window: int, full: int, appends: bool) -> None:
        self.blog, self.rows = Blog(window, full, appends), Rows(timing)
        self.adding, self.now, self.empty = adding, START, False
        self.first: dict[str, datetime] = {}
        self.changed: dict[str, datetime] = {}
        self.texts: dict[str, str] = {}
        self.withdrawn: set[str] = set()
        self.assigned: Counter[str] = Counter()

    @rule(dated=st.sampled_from(("now", "never", "old", "future")))
    def publish(self, dated: str) -> None:
        dates = {"now": self.now, "old": LONG_AGO, "future": self.now + timedelta(days=900)}
        # A feed that appends is known by its dates.
        self.blog.publish(self.now if self.blog.appends else dates.get(dated))

    @precondition(lambda self: self.blog.posts)
    @rule(place=ANY, minutes=LATER)
    def edit(self, place: int, minutes: int) -> None:
        self.blog.posts[place % len(self.blog.posts)].text += 1
        self.poll_later(minutes)

    @precondition(lambda self: self.blog.posts)
    @rule(place=ANY, minutes=LATER)
    def withdraw(self, place: int, minutes: int) -> None:
        self.blog.drafts.append(self.blog.posts.pop(place % len(self.blog.posts)))
        self.poll_later(minutes)

    @precondition(lambda self: self.blog.drafts)
    @rule(place=ANY, minutes=LATER)
    def bring_back(self, place: int, minutes: int) -> None:
        self.blog.posts.insert(min(place, len(self.blog.posts)), self.blog.drafts.pop())
        self.poll_later(minutes)

    @rule(order=st.randoms(use_true_random=False))
    def reorder(self, order: object) -> None:
        order.shuffle(self.blog.posts)  # type: ignore[attr-defined]

    @rule()
    def break_or_mend(self) -> None:
        self.empty = not self.empty

    @rule(minutes=st.integers(0, 400), seconds=st.integers(0, 59))
    def wait(self, minutes: int, seconds: int) -> None:
        self.now += timedelta(minutes=minutes, seconds=seconds)

    @rule()
    def assign(self) -> None:
        for row in self.rows.unassigned():
            if row.final:
                assert row.id not in self.withdrawn
                self.assigned[row.id] += 1
                self.rows.change(row.pk, state="assigned")
        assert set(self.assigned.values()) <= {1}, "assigned at most once"

    @rule()
    def clear(self) -> None:
        for row in self.rows.known.values():
            if row.state == "assigned":
                self.rows.change(row.pk, state="cleared")

    @rule(minutes=LATER)
    def poll_later(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)
        self.poll()

    @rule()
    def poll(self) -> None:
        document = Document((), {}) if self.empty else self.blog.document()
        before = dict(self.rows.known)
        plan = self.rows.plan(document, self.adding, self.now)
        self.check_withdrawn(plan, document, before)
        self.note(document, before)
        self.rows.apply(plan, document, self.now)
        self.check_final({row.pk for row in before.values() if row.final})
        back = [row for row in self.rows.known.values() if row.vanished and row.id in document.entries]
        assert not back, "what was withdrawn and is back is new again"
        again = self.rows.plan(document, self.adding, self.now)
        assert again == Plan(confirm=again.confirm), "replaying a poll changes nothing"

    @precondition(lambda self: self.rows.polled)
    @rule()
    def poll_unchanged(self) -> None:
        final = {row.pk for row in self.rows.known.values() if row.final}
        self.rows.apply(self.rows.plan_unchanged(self.now), Document((), {}), self.now)
        self.check_final(final)
        again = self.rows.plan_unchanged(self.now)
        assert again == Plan(confirm=again.confirm), "replaying a poll changes nothing"

    def note(self, document: Document, before: dict[int, Known]) -> None:
        for id_, seen in document.entries.items():
            if id_ not in self.first or id_ in self.withdrawn:
                self.withdrawn.discard(id_)
                self.first[id_] = self.changed[id_] = self.now
            elif self.texts[id_] != seen.content_hash:
                self.changed[id_] = self.now
            self.texts[id_] = seen.content_hash

    def check_withdrawn(self, plan: Plan, document: Document, before: dict[int, Known]) -> None:
        gone = {before[pk].id for pk in plan.vanish}
        for row in before.values():
            if row.state != "unassigned" or row.vanished or row.id in document.order:
                assert row.id not in gone
                continue
            previous = self.rows.previous
            older = previous[previous.index(row.id) + 1 :] if row.id in previous else []
            assert (row.id in gone) == bool(set(older) & set(document.order))
        self.withdrawn |= gone

    def check_final(self, before: set[int]) -> None:
        """The formula of feedletter 0.2.5, from what this test saw."""
        timing = self.rows.timing
        ping = timing.min_delay == timing.await_stabilization == 0
        for row in self.rows.unassigned():
            seen = int((self.now - self.first[row.id]).total_seconds() // 60)
            stable = int((self.now - self.changed[row.id]).total_seconds() // 60)
            waited = seen > timing.min_delay and stable > timing.await_stabilization
            changed_now = self.changed[row.id] == self.now > self.first[row.id]
            due = seen > timing.max_delay or (waited and not changed_now)
            new = self.first[row.id] == self.now
            if row.pk in before and not new:
                assert row.final, "what has settled stays so"
            else:
                assert row.final == (due or (ping and new))


FeedStory.TestCase.settings = settings(max_examples=400, stateful_step_count=50, deadline=None)
TestFeedStory = FeedStory.TestCase
