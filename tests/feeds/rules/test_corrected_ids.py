"""A post whose URL is corrected together with its date, title or text is the same post."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feeds.models import Item
from feeds.parsing.identity import link_hash
from feeds.parsing.likeness import is_long, likeness, similarity
from feeds.rules.facts import Document, Known, Seen
from feeds.rules.plan import plan_document
from feeds.rules.reposts import REPOST
from tests.examples import examples
from tests.feeds.rules.blog import a_feed

NOW = datetime(2026, 5, 6, 12, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
TITLE = "How we moved our whole archive to paper"
Post = tuple[str, str, datetime | None]
CAT = "Our cat has found a box and will not leave it."
PAPER = "昨日、私たちは全部の記録を紙に移しました。"


def reposts(
    before: Sequence[Post],
    after: Sequence[Post],
    similar: float | None = None,
    *,
    slack: timedelta = HOUR * 0,
) -> list[str]:
    """Return the new ids of known posts. Posts: id, title, date; `similar` is for all texts, or unknown."""
    formers = [
        Item(
            pk=pk,
            guid_hash=id_,
            link_hash=link_hash(f"https://a.example/{id_}"),
            title=title,
            published_at=date,
        )
        for pk, (id_, title, date) in enumerate(before)
    ]
    entries = {
        id_: Seen(
            "h",
            date,
            link_hash(f"https://a.example/{id_}"),
            slack,
            likeness(title, f"https://a.example/{id_}"),
        )
        for id_, title, date in after
    }
    similarities = {} if similar is None else {(new, old): similar for new, *_ in after for old, *_ in before}
    ids = [id_ for id_, *_ in before]
    known = Known((), ids, formers=formers, similarities=similarities, order=ids)
    feed = a_feed(added_at=NOW - 300 * DAY, fetched_through=NOW - 10 * MINUTE)
    result = plan_document(Document(tuple(entries), entries), known, feed, moment=NOW)
    return [insert.id for insert in result.insert if insert.excluded == REPOST]


def at(days: float) -> datetime:
    return NOW - days * DAY


OTHERS: list[Post] = [(f"o{n}", f"Thoughts {n}", at(n * 7 + 0.3)) for n in range(1, 5)]
POST: Post = ("p", TITLE, at(3))


def replaced(old: Post, new: Post, similar: float | None = None, **options: timedelta) -> bool:
    """Return whether the new post is the old one, in a feed in which all others stay."""
    return reposts([old, *OTHERS], [new, *OTHERS], similar, **options) == ["q"]


@pytest.mark.parametrize("days", [-1, 1, 0.04, 2.9, -6.4])
def test_a_long_title_within_a_week_tells_a_post_whose_address_changed(days: float) -> None:
    assert replaced(POST, ("q", TITLE, at(3 + days)))
    assert replaced(POST, ("q", TITLE.upper(), at(3 + days)), 0.9)


@pytest.mark.parametrize("days", [7, -7, 6.8, 8, 30])
def test_a_title_that_comes_again_after_a_week_is_that_of_a_series(days: float) -> None:
    assert not replaced(POST, ("q", TITLE, at(3 + days)), 0.6)


def test_another_text_under_the_same_title_is_another_post() -> None:
    assert not replaced(POST, ("q", TITLE, at(2.5)), 0.3)


def test_a_short_title_is_not_enough() -> None:
    assert not replaced(("p", "Weekly links", at(3)), ("q", "Weekly links", at(2.2)))
    assert not replaced(("p", "Weekly links", at(3)), ("q", "Weekly links", at(2.2)), 1.0)
    assert is_long("紙に移した私たちの全記録")
    assert not is_long("今週のリンク")


def test_a_title_that_two_posts_have_is_not_enough() -> None:
    twin: Post = ("t", TITLE, at(20))
    assert reposts([POST, *OTHERS, twin], [("q", TITLE, at(2.5)), *OTHERS, twin]) == []
    again: Post = ("r", TITLE, at(2.2))
    assert reposts([POST, *OTHERS], [again, ("q", TITLE, at(2.5)), *OTHERS]) == []


def test_a_post_that_rolled_off_makes_room_for_a_new_one_of_its_title() -> None:
    old: Post = ("p", TITLE, at(6))
    assert reposts([*OTHERS[:2], old], [("q", TITLE, at(0)), *OTHERS[:2]], 1.0) == []


def test_the_last_post_of_a_feed_may_be_corrected_as_well() -> None:
    old: Post = ("p", TITLE, at(60))
    assert reposts([*OTHERS, old], [*OTHERS, ("q", TITLE, at(61))]) == ["q"]


def test_of_a_feed_that_is_replaced_as_a_whole_nothing_was_corrected() -> None:
    before = [(f"a{n}", f"A title that is long enough {n}", at(1)) for n in range(5)]
    after = [(f"b{n}", f"A title that is long enough {n}", at(0)) for n in range(5)]
    pinned = OTHERS[-1]
    assert reposts([*before, pinned], [*after, pinned], 1.0) == []


@pytest.mark.parametrize("date", [at(3), at(4), at(3 + 365), at(-2)])
def test_title_and_address_corrected_together_at_the_same_time_of_day(date: datetime) -> None:
    assert replaced(POST, ("q", "How we moved our archive to clay", date), 0.9)
    assert not replaced(POST, ("q", "How we moved our archive to clay", date), 0.2)
    assert not replaced(POST, ("q", "How we moved our archive to clay", date)), "nobody knows the texts"


def test_another_time_of_day_is_another_post() -> None:
    assert not replaced(POST, ("q", "Clay", at(3.2)), 1.0)


def test_a_post_of_today_is_new_however_similar() -> None:
    """A forecast that is made from a form, above a pinned post."""
    assert not replaced(("p", "Tuesday", at(1) - HOUR), ("q", "Wednesday", at(0) - HOUR), 0.95)


def test_a_date_without_a_time_says_less() -> None:
    new: Post = ("q", "Clay", at(3))
    assert replaced(POST, new, 0.5)
    assert not replaced(POST, new, 0.5, slack=36 * HOUR)
    assert replaced(POST, new, 0.9, slack=36 * HOUR)
    assert not replaced(POST, ("q", "Clay", at(4)), 0.9, slack=36 * HOUR)


def test_without_dates_the_place_and_the_text_tell() -> None:
    others = [(id_, title, None) for id_, title, _ in OTHERS]
    old, new = ("p", "Paper", None), ("q", "Clay", None)
    assert reposts([others[0], old, *others[1:]], [others[0], new, *others[1:]], 0.9) == ["q"]
    assert reposts([others[0], old, *others[1:]], [new, *others], 0.9) == []


def test_two_that_come_for_one_that_left_are_told_by_their_moment_only() -> None:
    more: Post = ("r", "Another", at(4))
    assert reposts([POST, *OTHERS], [more, ("q", "Clay", at(3)), *OTHERS], 0.9) == ["q"]
    assert reposts([POST, *OTHERS], [("r", "Another", at(5)), ("q", "Clay", at(4)), *OTHERS], 0.9) == []


@pytest.mark.parametrize(
    ("one", "other", "is_similar"),
    [
        ("The archive has been moved to papr, at last.", "The archive was moved to paper, at last!", True),
        (PAPER, PAPER.replace("全部の", "全"), True),
        ("It rains in the north, and the sea is rough.", CAT, False),
        ("", CAT, False),
    ],
)
def test_similar_texts(one: str, other: str, is_similar: bool) -> None:
    found = similarity(("", f"<p>{one}</p>"), ("", f"<div>{other}</div>"))
    assert (found >= 0.5) == is_similar
    assert similarity(("Same", ""), ("Same", "")) == 1


DATES = st.sampled_from([None, *(at(n / 2) for n in range(12))])
POSTS = st.tuples(st.sampled_from("abcdefghij"), st.sampled_from((TITLE, "Weekly links", "")), DATES)
DOCUMENTS = st.lists(POSTS, unique_by=lambda post: post[0], max_size=8)


@settings(max_examples=examples(400))
@given(DOCUMENTS, DOCUMENTS, st.sampled_from((None, 0.0, 0.6, 1.0)))
def test_a_post_that_is_still_there_never_comes_again_and_none_comes_twice(
    before: Sequence[Post], after: Sequence[Post], similar: float | None
) -> None:
    found = reposts(before, after, similar)
    here, was = {id_ for id_, *_ in after}, {id_ for id_, *_ in before}
    assert not set(found) & was
    assert len(found) <= len(was - here)


@settings(max_examples=examples(300))
@given(st.integers(2, 8), st.data())
def test_a_window_that_slides_never_takes_new_posts_for_old_ones(window: int, data: st.DataObject) -> None:
    """For any titles and texts: the dates of new posts are new."""
    titles = st.sampled_from((TITLE, "Weekly links", "Thoughts"))
    step = data.draw(st.sampled_from((DAY, 7 * DAY, HOUR, DAY / 2)))
    posts = [(f"n{n}", data.draw(titles), NOW - n * step) for n in range(2 * window)]
    new = data.draw(st.integers(1, window))
    assert reposts(posts[new : new + window], posts[:window], 1.0) == []
