"""When a collection is complete, and what it waits for.

Schedules and moments in words.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.clock import zone_words
from subscriptions.rules.completion import (
    CollectionFacts,
    FeedFacts,
    is_complete,
    moment_words,
    next_issue_time,
    why_open,
)

NEW_YORK = ZoneInfo("America/New_York")
OPENED = datetime(2026, 11, 16, 12, 30, tzinfo=UTC)
END = datetime(2026, 11, 23, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
EACH = CollectionFacts(count=1, opened_at=OPENED)
EVERY_3 = CollectionFacts(count=1, opened_at=OPENED, capacity=3)
WEEK = CollectionFacts(count=2, opened_at=OPENED, period_end=END)
READ = FeedFacts(fetched_through=END, waited_for=True, unassigned_before_end=False, title="Example Blog")
BEHIND = replace(READ, fetched_through=END - SECOND)
NEVER_READ = replace(READ, fetched_through=None, title="New Blog")
UNSETTLED = replace(READ, unassigned_before_end=True)
STOPPED = FeedFacts(fetched_through=None, waited_for=False, unassigned_before_end=True, title="Old Blog")
feed_lists = st.lists(st.sampled_from([READ, BEHIND, NEVER_READ, UNSETTLED, STOPPED]), max_size=4)
offsets = st.integers(-12_000, 12_000).map(lambda minutes: END + timedelta(minutes=minutes))
DAY = timedelta(days=1)
TWO = replace(EVERY_3, count=2, max_wait_days=30)


def test_each_is_complete_as_soon_as_it_has_its_post() -> None:
    assert is_complete(EACH, [], OPENED)


@pytest.mark.parametrize(("count", "complete"), [(1, False), (2, False), (3, True), (4, True)])
def test_every_n_is_complete_from_n_posts_on(count: int, complete: bool) -> None:
    # "Exactly n" stranded a collection for ever when n was lowered below its size.
    assert is_complete(replace(EVERY_3, count=count), [BEHIND], END) is complete


def test_every_n_goes_out_shorter_at_its_longest_wait() -> None:
    waiting = replace(EVERY_3, max_wait_days=7)
    end = OPENED + timedelta(days=7)
    assert not is_complete(waiting, [], end - SECOND)
    assert is_complete(waiting, [], end)
    assert not is_complete(replace(waiting, count=0), [], end)
    assert not is_complete(EVERY_3, [], end + timedelta(days=3650))


def test_every_n_that_can_never_fill_up_goes_out() -> None:
    assert is_complete(replace(EVERY_3, takes_more=False), [], OPENED)


def test_a_period_is_never_complete_before_its_end() -> None:
    assert not is_complete(WEEK, [], END - SECOND)
    assert is_complete(WEEK, [], END)


@pytest.mark.parametrize(
    ("feeds", "complete"),
    [
        ([], True),
        ([READ], True),
        ([replace(READ, fetched_through=END + HOUR)], True),
        ([READ, STOPPED], True),
        ([READ, BEHIND], False),
        ([READ, NEVER_READ], False),
        ([UNSETTLED], False),
    ],
)
def test_a_period_waits_until_each_feed_was_read_through_its_end(
    feeds: Sequence[FeedFacts], complete: bool
) -> None:
    assert is_complete(WEEK, feeds, END) is complete
    assert is_complete(WEEK, feeds, END + HOUR - SECOND) is complete


@pytest.mark.parametrize("feed", [BEHIND, NEVER_READ, UNSETTLED])
def test_a_period_waits_no_longer_than_the_grace_whatever_the_reason(feed: FeedFacts) -> None:
    assert is_complete(WEEK, [feed], END + HOUR)
    longer = replace(WEEK, grace=3 * HOUR)
    assert not is_complete(longer, [feed], END + 3 * HOUR - SECOND)
    assert is_complete(longer, [feed], END + 3 * HOUR)
    assert is_complete(replace(WEEK, grace=timedelta(0)), [feed], END)


@pytest.mark.parametrize("collection", [EACH, WEEK, replace(EVERY_3, takes_more=False)])
def test_an_empty_collection_is_never_issued(collection: CollectionFacts) -> None:
    empty = replace(collection, count=0)
    assert not is_complete(empty, [READ], END + HOUR)


facts = st.builds(
    CollectionFacts,
    count=st.integers(0, 5),
    opened_at=st.just(OPENED),
    capacity=st.none() | st.integers(1, 5),
    max_wait_days=st.none() | st.integers(1, 10),
    takes_more=st.booleans(),
    period_end=st.none() | st.just(END),
    grace=st.integers(0, 120).map(lambda minutes: timedelta(minutes=minutes)),
)


@given(collection=facts, feeds=feed_lists, now=offsets, later=st.integers(0, 10_000))
def test_what_is_complete_stays_complete_and_ends_within_the_grace(
    collection: CollectionFacts, feeds: list[FeedFacts], now: datetime, later: int
) -> None:
    complete = is_complete(collection, feeds, now)
    if complete:
        assert collection.count > 0
        assert is_complete(collection, feeds, now + timedelta(minutes=later))
    if collection.period_end and collection.count and now >= END + collection.grace:
        assert complete


@given(collection=facts, feeds=feed_lists, now=offsets)
def test_what_is_open_says_so_in_one_or_two_sentences(
    collection: CollectionFacts, feeds: list[FeedFacts], now: datetime
) -> None:
    sentence = why_open(collection, feeds, now, NEW_YORK)
    assert sentence.startswith("Complete") == is_complete(collection, feeds, now)
    assert not (collection.count and sentence.startswith("Empty"))
    assert sentence.endswith(".")
    assert len(sentence) < 300


@pytest.mark.parametrize(
    ("collection", "feeds", "now", "sentence"),
    [
        (WEEK, [], OPENED, "Sent on Monday, 23 November 2026 at 7:00, New York time."),
        (
            WEEK,
            [NEVER_READ, UNSETTLED, STOPPED],
            END,
            "Due, but it waits for New Blog to be read and posts of Example Blog to be added, "
            "until Monday, 23 November 2026 at 8:00, New York time.",
        ),
        (WEEK, [READ], END, "Complete: it is sent within a minute."),
        (replace(WEEK, count=0), [READ], END, "Empty: nothing will be sent."),
        (EVERY_3, [], END, "Waits for 2 more posts."),
        (
            replace(EVERY_3, count=2, max_wait_days=7),
            [],
            OPENED,
            "Waits for 1 more post, until Monday, 23 November 2026 at 7:30, New York time.",
        ),
    ],
)
def test_it_says_what_it_waits_for(
    collection: CollectionFacts, feeds: list[FeedFacts], now: datetime, sentence: str
) -> None:
    assert why_open(collection, feeds, now, NEW_YORK) == sentence


def test_many_feeds_are_counted_not_listed() -> None:
    feeds = [replace(NEVER_READ, title=f"Blog {k}") for k in range(50)]
    assert "Blog 2 to be read and 47 more, until" in why_open(WEEK, feeds, END, NEW_YORK)


@pytest.mark.parametrize(
    ("collection", "before", "when"),
    [
        (WEEK, 3 * DAY, END),
        (WEEK, -SECOND, "Within a minute"),
        (WEEK, -HOUR, "Late"),
        (replace(WEEK, count=0), 3 * DAY, END),
        (replace(WEEK, is_sent_now=True), 3 * DAY, "Within a minute"),
        (EVERY_3, DAY, "After 2 more posts"),
        (replace(EVERY_3, count=0), DAY, "After 3 more posts"),
        (TWO, DAY, TWO.wait_end),
        (replace(TWO, count=3), DAY, "Within a minute"),
        (EACH, DAY, "Within a minute"),
    ],
)
def test_the_next_issue_has_a_time_or_says_what_it_waits_for(
    collection: CollectionFacts, before: timedelta, when: datetime | str
) -> None:
    assert next_issue_time(collection, END - before) == when


@pytest.mark.parametrize(
    ("zone", "words"),
    [
        ("UTC", "UTC"),
        ("Etc/UTC", "UTC"),
        ("Australia/Lord_Howe", "Lord Howe time"),
        ("America/Argentina/Buenos_Aires", "Buenos Aires time"),
        ("Etc/GMT-3", "UTC+3"),
        ("Etc/GMT+11", "UTC-11"),
    ],
)
def test_a_zone_in_words(zone: str, words: str) -> None:
    assert zone_words(ZoneInfo(zone)) == words


def test_a_moment_in_words_is_local() -> None:
    moment = datetime(2026, 11, 23, 12, 5, 59, tzinfo=UTC)
    words = moment_words(moment, ZoneInfo("America/New_York"))
    assert words == "Monday, 23 November 2026 at 7:05, New York time"
