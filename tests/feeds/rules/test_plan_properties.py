"""For any feed, a post is assigned at most once, never too early, never once withdrawn."""

from collections import Counter
from datetime import datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from feeds.models import Item
from feeds.rules.facts import Document, PollPlan
from feeds.rules.reposts import REPOST
from tests.examples import examples
from tests.feeds.rules.blog import LONG_AGO, START, Blog, Rows, a_feed

DELAYS = ((30, 15, 180), (0, 0, 0), (0, 10, 20), (5, 0, 5), (20, 60, 40))
STARTS = (("all", 0), ("last", 2), ("from_now", 0))
ANY = st.integers(0, 7)
LATER = st.sampled_from((0, 1, 10, 16, 31, 61, 181))
LONG = timedelta(minutes=181)


class FeedStory(RuleBasedStateMachine):
    """Model that records what each poll showed of each post, and checks the plans against it."""

    @initialize(
        delays=st.sampled_from(DELAYS),
        start=st.sampled_from(STARTS),
        window=st.sampled_from((1, 2, 3, 4, 6, 16, 30)),
        full=st.sampled_from((1, 2, 4, 6, 20, 30)),
        appends=st.booleans(),
    )
    def begin(
        self, delays: tuple[int, int, int], start: tuple[str, int], window: int, full: int, appends: bool
    ) -> None:
        self.feed = a_feed(*delays, start=start[0], start_count=start[1])
        self.blog, self.rows = Blog(window, full, appends), Rows(self.feed)
        self.now, self.empty, self.was_pushed = START, False, False
        # By id: the first and the last change that was seen, and the text.
        self.first: dict[str, datetime] = {}
        self.changed: dict[str, datetime] = {}
        # When it last appeared, and how often it was withdrawn and returned.
        self.came: dict[str, datetime] = {}
        self.returns: Counter[str] = Counter()
        self.texts: dict[str, str] = {}
        self.withdrawn: set[str] = set()
        self.released: set[int] = set()
        # Posts that were published long before the adding, as the first document shows them.
        self.long_out: set[str] = set()
        self.assigned: Counter[int] = Counter()
        self.posts: Counter[str] = Counter()
        # Ambiguous links: two posts had them, or they left and returned with another id.
        self.doubtful: set[str] = set()

    @rule(dated=st.sampled_from(("now", "never", "old", "future")))
    def publish(self, dated: str) -> None:
        dates = {"now": self.now, "old": LONG_AGO, "future": self.now + timedelta(days=900)}
        # A feed that appends is known by its dates.
        self.blog.publish(self.now if self.blog.appends else dates.get(dated))

    @rule(count=st.integers(9, 14), minutes=LATER)
    def publish_many(self, count: int, minutes: int) -> None:
        for _ in range(count):
            self.blog.publish(self.now if self.blog.appends else None)
        self.poll_later(minutes)

    @precondition(lambda self: self.blog.posts)
    @rule(place=ANY)
    def publish_at_the_same_link(self, place: int) -> None:
        link = self.blog.posts[place % len(self.blog.posts)].link
        self.blog.publish(self.now if self.blog.appends else None, link)

    @precondition(lambda self: self.blog.posts)
    @rule(place=ANY, minutes=LATER)
    def give_a_new_id(self, place: int, minutes: int) -> None:
        self.blog.posts[place % len(self.blog.posts)].ids.append(self.blog.new_id())
        self.poll_later(minutes)

    @rule(minutes=LATER)
    def give_all_new_ids(self, minutes: int) -> None:
        for post in self.blog.posts:
            post.ids.append(self.blog.new_id())
        self.poll_later(minutes)

    @precondition(lambda self: any(len(post.ids) > 1 for post in self.blog.posts))
    @rule(place=ANY, back=st.integers(1, 3), minutes=LATER)
    def give_an_old_id(self, place: int, back: int, minutes: int) -> None:
        posts = [post for post in self.blog.posts if len(post.ids) > 1]
        ids = posts[place % len(posts)].ids
        ids.append(ids.pop(-1 - min(back, len(ids) - 1)))
        self.poll_later(minutes)

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
    @rule(place=ANY, minutes=LATER, another_id=st.booleans())
    def bring_back(self, place: int, minutes: int, another_id: bool) -> None:
        post = self.blog.drafts.pop()
        if another_id:
            post.ids.insert(0, post.ids.pop() if len(post.ids) > 1 else self.blog.new_id())
        self.blog.posts.insert(min(place, len(self.blog.posts)), post)
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
            if row.final_at:
                assert row.guid_hash not in self.withdrawn
                assert not row.held_at
                self.assigned[row.pk] += 1
                self.posts[row.link_hash] += 1
                self.rows.change(row.pk, state="assigned")
        assert set(self.assigned.values()) <= {1}, "an item is assigned at most once"
        twice = {link for link, times in self.posts.items() if times > 1}
        assert twice <= self.doubtful, "a post is assigned at most once"

    @rule()
    def clear(self) -> None:
        for row in self.rows.known.values():
            if row.state == "assigned":
                self.rows.change(row.pk, state="cleared", content_hash="")

    @rule()
    def release(self) -> None:
        for row in self.rows.held():
            self.released.add(row.pk)
            self.rows.change(row.pk, held_at=None)

    @rule(some=ANY)
    def exclude_held(self, some: int) -> None:
        for row in self.rows.held()[some:]:
            self.rows.exclude(row.pk, "by hand")

    @rule(minutes=LATER)
    def poll_later(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)
        self.poll()

    @rule()
    def poll(self) -> None:
        document = Document((), {}) if self.empty else self.blog.document()
        before = dict(self.rows.known)
        plan = self.rows.plan(document, self.now)
        self.check_withdrawn(plan, document, before)
        self.read(plan, document, before, partial=False)
        self.was_pushed = False
        back = [
            row for row in self.rows.known.values() if row.vanished_at and row.guid_hash in document.entries
        ]
        assert not back, "what was withdrawn and is back is new again"

    @precondition(lambda self: self.feed.first_polled_at)
    @rule(places=st.sets(st.integers(0, 20), min_size=1), minutes=LATER)
    def push(self, places: set[int], minutes: int) -> None:
        self.now += timedelta(minutes=minutes)
        document, before = self.blog.pushed(places), dict(self.rows.known)
        plan = self.rows.plan(document, self.now, partial=True)
        assert plan.vanish + plan.roll_off + list(plan.rekey) == [], "it says nothing of the rest"
        assert not {insert.id for insert in plan.insert} & set(self.renamed(document))
        self.read(plan, document, before, partial=True)
        self.was_pushed = True

    def read(self, plan: PollPlan, document: Document, before: dict[int, Item], *, partial: bool) -> None:
        self.check_flood(plan, document)
        self.check_joined(plan, document, before)
        self.note_doubts(document)
        self.note(document, plan.deferred, partial=partial)
        self.released.difference_update(plan.restart)
        if not self.feed.first_polled_at:
            self.long_out = self.out_long_before(document)
        self.rows.apply(plan, document, self.now, partial=partial)
        self.check_final({row.pk for row in before.values() if row.final_at}, pushed=partial)
        assert plan.holds == bool(self.rows.held())
        again = self.rows.plan(document, self.now, partial=partial)
        assert again == PollPlan(confirm=again.confirm, calm=again.calm), "replaying a poll changes nothing"

    # After a push the next reading is a full one.
    @precondition(lambda self: self.feed.first_polled_at and not self.was_pushed)
    @rule()
    def poll_unchanged(self) -> None:
        final = {row.pk for row in self.rows.known.values() if row.final_at}
        self.rows.apply(self.rows.plan_unchanged(self.now), Document((), {}), self.now)
        self.check_final(final)
        again = self.rows.plan_unchanged(self.now)
        assert again == PollPlan(confirm=again.confirm), "replaying a poll changes nothing"

    @precondition(lambda self: not self.empty)
    @rule()
    def come_to_rest(self) -> None:
        """A post that stays published, unchanged and not held, becomes final."""
        self.poll()
        self.poll_later(181)
        rows = {row.guid_hash: row for row in self.rows.known.values()}
        for id_, entry in self.blog.document().entries.items():
            row = rows[id_]
            if row.state == "unassigned":
                assert row.held_at or row.final_at
            elif row.reason == REPOST and entry.link not in self.doubtful:
                others = [other for other in self.at(entry.link) if other.pk != row.pk]
                assert any(other.state != "unassigned" for other in others), "its post was not lost"

    def at(self, link: str) -> list[Item]:
        """Return the rows at a link that are no reposts."""
        return [row for row in self.rows.known.values() if row.link_hash == link and row.reason != REPOST]

    def renamed(self, document: Document) -> dict[str, str]:
        """Return new id → old id, by the documented rule."""
        link_of = {row.guid_hash: row.link_hash for row in self.rows.known.values()}
        reposts = {row.guid_hash for row in self.rows.reposts()}
        links = [entry.link for entry in document.entries.values()]
        found = {}
        for id_, entry in document.entries.items():
            before = [old for old in self.rows.previous if link_of.get(old) == entry.link]
            if id_ in link_of and id_ not in reposts:
                continue
            if self.feed.first_polled_at and links.count(entry.link) == len(before) == 1:
                found.update({id_: before[0]} if before[0] not in document.order else {})
        return found

    def note_doubts(self, document: Document) -> None:
        known = {row.guid_hash for row in self.rows.known.values()}
        renamed = self.renamed(document)
        links = Counter(entry.link for entry in document.entries.values())
        rows = {row.link_hash for row in self.rows.known.values()}
        for id_, entry in document.entries.items():
            another = entry.link in rows and id_ not in known | set(renamed)
            if links[entry.link] > 1 or another:
                self.doubtful.add(entry.link)

    def check_joined(self, plan: PollPlan, document: Document, before: dict[int, Item]) -> None:
        """Check that an id is joined only to a waiting post at that link with another id."""
        renamed = {new: old for new, old in self.renamed(document).items() if new not in plan.deferred}
        reposts = {row.guid_hash for row in self.rows.reposts()}
        for new, old in renamed.items():
            (row,) = (row for row in before.values() if row.guid_hash == old)
            open_ = row.state == "unassigned"
            assert (plan.rekey.get(row.pk) == new) == open_
            excluded = [insert.excluded for insert in plan.insert if insert.id == new]
            joined = open_ or new in reposts or new in plan.rekey.values()
            assert excluded == ([] if joined else [REPOST])
        for pk, new in plan.rekey.items():
            assert self.rows.known[pk].link_hash == document.entries[new].link
            assert renamed.get(new) == before[pk].guid_hash or reposts & {new, renamed.get(new)}
            self.rename(before[pk].guid_hash, new)

    def rename(self, old: str, new: str) -> None:
        self.first[new], self.changed[new] = self.first.pop(old), self.changed.pop(old)
        self.texts[new], self.came[new] = self.texts.pop(old), self.came.pop(old)
        self.returns[new] = self.returns.pop(old, 0)
        if old in self.long_out:
            self.long_out.add(new)
        if old in self.withdrawn:
            self.withdrawn.remove(old)
            self.withdrawn.add(new)

    def check_flood(self, plan: PollPlan, document: Document) -> None:
        fresh = [insert for insert in plan.insert if not insert.excluded]
        counted = [insert for insert in plan.insert if insert.excluded != REPOST]
        is_read = self.feed.first_polled_at is not None
        flood = is_read and len(counted) > 10 and len(counted) > len(document.order) / 2
        strange = plan.stranger and is_read
        told = {
            row.guid_hash
            for row in self.rows.known.values()
            if row.first_seen <= (self.feed.fetched_through or START)
        }
        assert not (strange and told & set(document.order))
        assert {insert.held for insert in fresh} <= {flood or strange}
        assert not any(insert.held for insert in plan.insert if insert.excluded)

    def note(self, document: Document, deferred: tuple[str, ...], *, partial: bool) -> None:
        for id_, seen in document.entries.items():
            # A push may be late: it does not bring back a withdrawn post.
            if id_ in deferred or (partial and id_ in self.withdrawn):
                continue
            if id_ not in self.first or id_ in self.withdrawn:
                self.returns[id_] += id_ in self.withdrawn
                self.withdrawn.discard(id_)
                self.changed[id_] = self.came[id_] = self.now
                if self.returns[id_] < 2:
                    self.first[id_] = self.now
            elif self.texts[id_] != seen.content_hash:
                self.changed[id_] = self.now
            self.texts[id_] = seen.content_hash

    def check_withdrawn(self, plan: PollPlan, document: Document, before: dict[int, Item]) -> None:
        gone = {before[pk].guid_hash for pk in plan.vanish}
        there = {
            *document.order,
            *self.renamed(document).values(),
            *(before[pk].guid_hash for pk in plan.rekey),
        }
        for row in before.values():
            if not row.waits or row.guid_hash in there:
                assert row.guid_hash not in gone
                continue
            previous = self.rows.previous
            older = previous[previous.index(row.guid_hash) + 1 :] if row.guid_hash in previous else []
            assert (row.guid_hash in gone) == (
                bool(set(older) & there) or self.was_anothers(row, document, there)
            )
        self.withdrawn |= gone

    def was_anothers(self, row: Item, document: Document, there: set[str]) -> bool:
        """Return whether earlier ids are back, so that the previous document was another site's.

        Then either only that document had the row, or it shares nothing with this one.
        """
        read_at, previous = self.feed.fetched_through, set(self.rows.previous)
        if read_at is None or row.guid_hash not in previous:
            return False
        rows = [known for known in self.rows.known.values() if known.reason != REPOST]
        pushed = {
            known.guid_hash for known in rows if known.state != "cleared" and known.first_seen > read_at
        }
        back = {known.guid_hash for known in rows} & set(document.order) - previous - pushed
        return bool(back) and (row.first_seen >= read_at or not previous & there)

    def out_long_before(self, document: Document) -> set[str]:
        """Return posts of the adding that were published before the longest delay."""
        longest = timedelta(minutes=self.feed.max_delay_minutes)
        return {id_ for id_, date in document.published.items() if date and date < self.now - longest}

    def check_final(self, before: set[int], *, pushed: bool = False) -> None:
        """Check settled posts by feedletter 0.2.5's formula. Known posts settle at readings only."""
        feed = self.feed
        ping = feed.min_delay_minutes == feed.await_stabilization_minutes == 0
        for row in self.rows.unassigned():
            minutes = int((self.now - self.first[row.guid_hash]).total_seconds() // 60)
            stable = int((self.now - self.changed[row.guid_hash]).total_seconds() // 60)
            waited = minutes > feed.min_delay_minutes and stable > feed.await_stabilization_minutes
            changed_now = self.changed[row.guid_hash] == self.now > self.first[row.guid_hash]
            due = minutes > feed.max_delay_minutes or (waited and not changed_now)
            new = self.came[row.guid_hash] == self.now
            if row.held_at:
                assert not row.final_at, "what is held does not settle"
            elif pushed and not new:
                assert bool(row.final_at) == (row.pk in before), "a push settles nothing that was known"
            elif row.pk in before and not new:
                assert row.final_at, "what has settled stays so"
            else:
                at_first_sight = ping and new and row.pk not in self.released
                settled_before = new and row.guid_hash in self.long_out
                assert bool(row.final_at) == (due or at_first_sight or settled_before)


FeedStory.TestCase.settings = settings(max_examples=examples(400), stateful_step_count=50)
TestFeedStory = FeedStory.TestCase


def test_a_post_that_is_back_under_another_id_beside_one_at_its_link_keeps_the_id_it_took() -> None:
    state = FeedStory()
    state.begin(delays=(30, 15, 180), start=("all", 0), window=2, full=1, appends=False)
    state.publish(dated="now")
    state.clear()
    state.come_to_rest()
    state.give_all_new_ids(minutes=0)
    state.withdraw(minutes=0, place=0)
    state.publish(dated="now")
    state.bring_back(another_id=True, minutes=0, place=1)
    state.publish_at_the_same_link(place=1)
    state.come_to_rest()
