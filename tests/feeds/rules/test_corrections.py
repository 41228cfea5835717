"""Sent posts: a stable change is a correction, and a certain removal is a withdrawal."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feeds.models import Feed
from feeds.rules.corrections import MOST_CORRECTIONS, TrackedPost, after_document, after_unchanged
from feeds.rules.facts import Document, Seen
from feeds.rules.finality import CACHED_FOR, at_first_sight
from tests.examples import examples
from tests.feeds.rules.blog import a_feed

START = datetime(2026, 5, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
USUAL, PINGS = a_feed(), a_feed(0, 0, 0)
ALL = ("p6", "p5", "p4", "p3", "p2", "p1")
WITHOUT = tuple(id_ for id_ in ALL if id_ != "p5")
SENT = 400.0
TROUBLE = ("empty", "cut", "few")


def at(minutes: float) -> datetime:
    return START + minutes * MINUTE


def document(*ids: str, **texts: str) -> Document:
    """Return the posts, newest first: p9 is newer than p1. Each has the text "1", or that of `texts`."""
    entries = {id_: Seen(texts.get(id_, "1"), at(60 * int(id_[1:])), f"link of {id_}") for id_ in ids}
    return Document(ids, entries)


def tracked(id_: str = "p5", **facts: object) -> TrackedPost:
    until = at(60 * int(id_[1:])) + timedelta(days=1)
    usual = TrackedPost(1, id_, until, "1", f"link of {id_}", at(60 * int(id_[1:])))
    return replace(usual, **facts)  # type: ignore[arg-type]


@dataclass
class Readings:
    """A post through the readings of its feed."""

    post: TrackedPost
    delays: Feed = USUAL
    previous: tuple[str, ...] = ("p6", "p5", "p4", "p3", "p2", "p1")

    def read(self, minutes: float, *ids: str, partial: bool = False, **texts: str) -> str:
        """Read the feed; return the reported change."""
        shown = document(*ids, **texts)
        changed = after_document(
            [self.post],
            shown,
            previous=self.previous,
            delays=self.delays,
            moment=at(minutes),
            partial=partial,
        )
        self.post = changed[0] if changed else self.post
        if not partial:
            self.previous = shown.order or self.previous
        return self.post.news

    def unchanged(self, minutes: float) -> str:
        changed = after_unchanged([self.post], delays=self.delays, moment=at(minutes))
        self.post = changed[0] if changed else self.post
        return self.post.news

    def taken(self) -> None:
        """Record that the correction was sent."""
        post = self.post
        self.post = replace(
            post,
            content_hash=post.seen_hash,
            seen_hash="",
            seen_since=None,
            news="",
            corrections=post.corrections + 1,
        )


class TestCorrections:
    def test_a_text_that_has_stood_as_long_as_any_must_is_told(self) -> None:
        feed = Readings(tracked())
        told = [feed.read(SENT + minute, *ALL, p5="2") for minute in (0, 10, 15.9, 16)]
        assert told == ["", "", "", "corrected"]

    def test_it_is_told_by_a_reading_that_finds_nothing_new_too(self) -> None:
        feed = Readings(tracked())
        assert feed.read(SENT, *ALL, p5="2") == ""
        assert [feed.unchanged(SENT + minute) for minute in (10, 16)] == ["", "corrected"]

    def test_a_feed_that_pings_is_believed_at_once(self) -> None:
        assert Readings(tracked(), PINGS).read(SENT, *ALL, p5="2") == "corrected"

    def test_the_text_that_was_sent_is_none(self) -> None:
        feed = Readings(tracked())
        feed.read(SENT, *ALL, p5="2")
        assert [feed.read(SENT + minute, *ALL) for minute in (10, 20, 40)] == ["", "", ""]
        assert feed.post == tracked()

    def test_what_was_taken_is_told_no_more(self) -> None:
        feed = Readings(tracked(), PINGS)
        feed.read(SENT, *ALL, p5="2")
        feed.taken()
        assert feed.read(SENT + 10, *ALL, p5="2") == ""
        assert feed.read(SENT + 20, *ALL) == "corrected"

    def test_what_nobody_has_taken_yet_gives_way_to_a_newer_text(self) -> None:
        feed = Readings(tracked())
        feed.read(SENT, *ALL, p5="2")
        assert feed.read(SENT + 20, *ALL, p5="2") == "corrected"
        assert feed.read(SENT + 30, *ALL, p5="3") == ""
        assert feed.read(SENT + 50, *ALL, p5="3") == "corrected"
        assert feed.post.seen_hash == "3"

    def test_a_push_is_seen_and_settles_at_readings(self) -> None:
        feed = Readings(tracked(), PINGS)
        assert feed.read(SENT, "p5", partial=True, p5="2") == ""
        assert feed.unchanged(SENT + 1) == "corrected"

    def test_after_its_time_nothing_new_is_seen(self) -> None:
        feed = Readings(tracked(until=at(SENT)), PINGS)
        assert feed.read(SENT + 1, *ALL, p5="2") == ""
        assert feed.post == tracked(until=at(SENT))

    def test_what_was_seen_in_time_may_settle_later(self) -> None:
        feed = Readings(tracked(until=at(SENT)))
        feed.read(SENT, *ALL, p5="2")
        assert feed.read(SENT + 20, *ALL, p5="2") == "corrected"

    def test_of_one_post_so_many_are_told(self) -> None:
        feed = Readings(tracked(), PINGS)
        for number in range(2, 40):
            if feed.read(SENT + number, *ALL, p5=str(number)):
                feed.taken()
        assert feed.post.corrections == MOST_CORRECTIONS

    def test_under_another_id_it_is_there_and_not_read(self) -> None:
        feed = Readings(tracked())
        renamed = Document(
            ("x5", *WITHOUT), {**document(*WITHOUT).entries, "x5": Seen("2", at(300), "link of p5")}
        )
        for minute in (0, 30, 60, 90):
            changed = after_document(
                [feed.post], renamed, previous=ALL, delays=USUAL, moment=at(SENT + minute)
            )
            assert changed == []


class TestWithdrawals:
    def test_after_an_hour_and_two_readings_it_is_told(self) -> None:
        feed = Readings(tracked())
        assert [feed.read(SENT + minute, *WITHOUT) for minute in (0, 30, 59.9, 60)] == [
            "",
            "",
            "",
            "withdrawn",
        ]

    def test_a_reading_that_finds_nothing_new_counts(self) -> None:
        feed = Readings(tracked())
        feed.read(SENT, *WITHOUT)
        assert feed.unchanged(SENT + 60) == "withdrawn"

    def test_the_newest_can_be_withdrawn(self) -> None:
        feed = Readings(tracked("p6"))
        assert [feed.read(SENT + minute, *ALL[1:]) for minute in (0, 61)] == ["", "withdrawn"]

    def test_two_may_be_withdrawn_from_a_feed_of_eight(self) -> None:
        ids = ("p8", "p7", *ALL)
        feed = Readings(tracked(), previous=ids)
        left = [id_ for id_ in ids if id_ not in ("p5", "p4")]
        assert [feed.read(SENT + minute, *left) for minute in (0, 61)] == ["", "withdrawn"]

    @pytest.mark.parametrize(
        ("first", "later"),
        [
            pytest.param((), (), id="empty"),
            pytest.param(("p6",), ("p6",), id="shrunk"),
            pytest.param(("p6", "p1"), ("p6", "p1"), id="one is pinned to the end"),
            pytest.param(("p6", "p2", "p1"), ("p6", "p2", "p1"), id="many are gone at once"),
            pytest.param(("p9", "p8", "p7"), ("p9", "p8", "p7"), id="rolled off"),
            pytest.param(WITHOUT, ALL, id="back"),
            pytest.param(WITHOUT, (), id="then empty"),
            pytest.param(WITHOUT, ("p9", "p8", "p7"), id="then rolled off"),
            pytest.param(("p1", "p2", "p3", "p4", "p6"), ("p6", "p4", "p1", "p3", "p2"), id="in no order"),
        ],
    )
    def test_a_document_that_does_not_prove_it_withdraws_nothing(
        self, first: tuple[str, ...], later: tuple[str, ...]
    ) -> None:
        feed = Readings(tracked())
        shown = [feed.read(SENT, *first)]
        shown += [feed.read(SENT + minute, *later) for minute in (30, 61, 90, 150, 300)]
        assert set(shown) == {""}

    def test_an_empty_document_in_between_begins_the_hour_anew(self) -> None:
        feed = Readings(tracked())
        feed.read(SENT, *WITHOUT)
        feed.read(SENT + 30)
        assert feed.read(SENT + 61, *WITHOUT) == ""

    def test_without_dates_nothing_is_withdrawn(self) -> None:
        undated = Document(WITHOUT, {id_: Seen("1") for id_ in WITHOUT})
        for minute in (0, 61, 130):
            changed = after_document(
                [tracked()], undated, previous=ALL, delays=USUAL, moment=at(SENT + minute)
            )
            assert changed == []

    def test_a_push_withdraws_nothing(self) -> None:
        feed = Readings(tracked())
        assert {feed.read(SENT + minute, *WITHOUT, partial=True) for minute in (0, 30, 61)} == {""}

    def test_what_was_not_in_the_last_document_is_not_missing(self) -> None:
        feed = Readings(tracked(), previous=WITHOUT)
        assert {feed.read(SENT + minute, *WITHOUT) for minute in (0, 30, 61)} == {""}


@dataclass(frozen=True)
class Step:
    """Minutes pass, the author acts, and the feed is read, perhaps from a cache."""

    minutes: int
    act: str
    place: int
    shown: str


STEPS = st.lists(
    st.builds(
        Step,
        st.integers(1, 90),
        st.sampled_from(("publish", "withdraw", "bring back", "edit", "rest", "rest", "rest")),
        st.integers(0, 5),
        st.sampled_from(
            ("live", "live", "live", "cached", "empty", "cut", "few", "same", "pushed", "failed")
        ),
    ),
    max_size=40,
)


@given(STEPS, st.integers(3, 8), st.sampled_from((USUAL, PINGS, a_feed(5, 40, 60))))
@settings(max_examples=examples(400))
def test_whatever_a_feed_does_only_what_is_so_is_told(steps: list[Step], window: int, feed: Feed) -> None:
    texts = {f"p{number}": 1 for number in range(1, 9)}
    live = sorted(texts, reverse=True)
    away: list[str] = []
    now, states = at(8 * 60), [(at(8 * 60), tuple(live), dict(texts))]
    posts = {id_: tracked(id_, until=now + timedelta(days=1)) for id_ in live}
    previous = tuple(live[:window])
    # Per post: the consecutive readings without it, and the time since its current text.
    missing: dict[str, list[datetime]] = {id_: [] for id_ in posts}
    since: dict[str, tuple[int, datetime]] = dict.fromkeys(posts, (1, now))
    last, (read_at, *read), troubled = document(*previous), states[0], None
    for step in steps:
        now += step.minutes * MINUTE
        chosen = f"p{step.place + 3}"
        if step.act == "publish":
            # Its id is its time, in hours.
            new = f"p{round((now - START) / MINUTE) / 60:.4f}"
            live, texts[new] = [new, *live], 1
        elif step.act == "withdraw" and chosen in live:
            live.remove(chosen)
            away.append(chosen)
        elif step.act == "bring back" and away:
            live = sorted([*live, away.pop()], key=lambda id_: float(id_[1:]), reverse=True)
        elif step.act == "edit":
            texts[chosen] += 1
        states.append((now, tuple(live), dict(texts)))
        if step.shown in ("live", "cached"):
            troubled = None
        elif step.shown in TROUBLE:
            troubled = troubled or now
        # A server is in trouble for less than an hour.
        is_over = troubled is not None and now - troubled >= CACHED_FOR
        if step.shown == "failed" or (is_over and step.shown in (*TROUBLE, "same")):
            continue
        # A cache is at most so far behind.
        later = [when for when, *shown in states if when > read_at and shown != [*read]]
        if step.shown == "same" and later and now - later[0] > CACHED_FOR:
            continue
        if step.shown == "same":
            changed = after_unchanged(posts.values(), delays=feed, moment=now)
        else:
            at_the_time = states[-1]
            if step.shown == "cached":
                at_the_time = next(state for state in states if state[0] > now - CACHED_FOR)
            if step.shown != "pushed":
                read_at, *read = at_the_time
            _, seen, said = at_the_time
            ids = seen[:window]
            ids = {"empty": (), "cut": ids[: step.place], "few": ids[::2], "pushed": ids[:1]}.get(
                step.shown, ids
            )
            last = _of(ids, said) if step.shown != "pushed" else last
            shown = _of(ids, said)
            changed = after_document(
                posts.values(),
                shown,
                previous=previous,
                delays=feed,
                moment=now,
                partial=step.shown == "pushed",
            )
            previous = ids if ids and step.shown != "pushed" else previous
            for id_ in posts:
                if id_ in shown.entries:
                    text = int(shown.entries[id_].content_hash)
                    since[id_] = since[id_] if since[id_][0] == text else (text, now)
        if step.shown != "pushed":
            for id_ in posts:
                missing[id_] = [] if id_ in last.order else [*missing[id_], now]
        for post in changed:
            before = posts[post.id]
            posts[post.id] = post
            if post.news == "corrected" and before.news != "corrected":
                text, first = since[post.id]
                assert post.seen_hash == str(text) != before.content_hash
                assert at_first_sight(feed) or now - first > feed.await_stabilization_minutes * MINUTE
                posts[post.id] = replace(
                    post, content_hash=post.seen_hash, seen_hash="", seen_since=None, news=""
                )
            elif post.news == "withdrawn":
                gone = missing[post.id]
                assert len(gone) >= 2
                assert now - gone[0] >= CACHED_FOR
                # Its author had removed it, at least within the time that a cache may be behind.
                assert any(post.id not in ids for when, ids, _ in states if when > now - 2 * CACHED_FOR)
                del posts[post.id]


def _of(ids: tuple[str, ...], texts: dict[str, int]) -> Document:
    entries = {
        id_: Seen(str(texts[id_]), START + timedelta(hours=float(id_[1:])), f"link of {id_}") for id_ in ids
    }
    return Document(tuple(ids), entries)
