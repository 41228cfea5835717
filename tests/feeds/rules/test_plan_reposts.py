"""The same post under a new id: how it is recognised, and the fate of both ids.

A post whose URL is corrected together with its date, title or text is the same post.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feeds.models import Item
from feeds.parsing.identity import link_hash
from feeds.parsing.likeness import is_long, likeness, similarity
from feeds.rules.facts import Document, Insert, Known, PollPlan, Seen
from feeds.rules.plan import OLDER, plan_document
from feeds.rules.reposts import KEPT_FOR_A_LINK, REPOST
from tests.examples import examples
from tests.feeds.rules.blog import a_feed, an_item

CORRECTED_ID_NOW = datetime(2026, 5, 6, 12, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
TITLE = "How we moved our whole archive to paper"
Post = tuple[str, str, datetime | None]
CAT = "Our cat has found a box and will not leave it."
PAPER = "昨日、私たちは全部の記録を紙に移しました。"
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=300)


def document(**links: str) -> Document:
    """Return a document of ids, newest first, each with its link."""
    return Document(tuple(links), {id_: Seen("h", link=link) for id_, link in links.items()})


def known(id_: str, state: str = "unassigned", *, pk: int = 1, content_hash: str = "h", **are: bool) -> Item:
    return an_item(pk, id_, state, content_hash, NOW - timedelta(minutes=20), **are)


def former(id_: str, link: str = "L", *, pk: int = 1, repost: bool = False) -> Item:
    given = {"state": "excluded", "reason": REPOST} if repost else {}
    return Item(pk=pk, guid_hash=id_, link_hash=link, **given)


def plan(
    doc: Document,
    *rows: Item,
    previous: tuple[str, ...] = ("old", "other"),
    formers: tuple[Item, ...] = (former("old"),),
    done: tuple[str, ...] = ("other",),
    reposts: tuple[str, ...] = (),
    partial: bool = False,
    **fields: Any,
) -> PollPlan:
    known = Known(rows, (*done, *reposts), reposts, formers=formers, order=previous)
    feed = a_feed(added_at=NOW - timedelta(days=1), **fields)
    return plan_document(doc, known, feed, moment=NOW, partial=partial)


NEW_ID = document(new="L", other="M")


def test_a_post_that_was_done_and_has_a_new_id_is_excluded() -> None:
    assert plan(NEW_ID, done=("old", "other")) == PollPlan(insert=[Insert("new", excluded=REPOST)])


def test_a_post_in_a_collection_keeps_its_old_id_and_the_new_one_is_excluded() -> None:
    result = plan(NEW_ID, known("old", "assigned"))
    assert result == PollPlan(insert=[Insert("new", excluded=REPOST)])


def test_a_post_that_waits_takes_over_the_new_id_and_goes_on_waiting() -> None:
    assert plan(NEW_ID, known("old")) == PollPlan(rekey={1: "new"}, confirm=[1])


def test_a_post_that_takes_over_a_new_id_takes_its_text_too() -> None:
    result = plan(NEW_ID, known("old", content_hash="before"))
    assert result == PollPlan(rekey={1: "new"}, rewrite={1: "new"}, unsettle=[1], confirm=[1])


def test_a_held_post_under_a_new_id_stays_held() -> None:
    result = plan(NEW_ID, known("old", held=True))
    assert (result.rekey, result.holds, result.finalise) == ({1: "new"}, True, [])


def test_a_waiting_post_of_an_old_date_is_not_lost_with_its_id() -> None:
    doc = Document(("new", "other"), {"new": Seen("h", LONG_AGO, "L"), "other": Seen("h", link="M")})
    assert plan(doc, known("old")).rekey == {1: "new"}
    assert plan(doc, formers=()).insert == [Insert("new", excluded=OLDER)]


@pytest.mark.parametrize(
    ("doc", "why_not"),
    [
        (document(new="L", old="L", other="M"), "the old id is still there"),
        (document(new="L", twin="L", other="M"), "the link stands on two entries now"),
        (document(new="N", other="M"), "it is another link"),
        (document(new="", other="M"), "it has no link"),
        (Document(("new", "other"), {"other": Seen("h", link="M")}), "it was not read in full"),
    ],
)
def test_it_is_another_post(doc: Document, why_not: str) -> None:
    result = plan(doc, done=("old", "other"))
    assert REPOST not in {insert.excluded for insert in result.insert}, why_not


def test_it_is_another_post_when_the_link_stood_on_two_entries_before() -> None:
    formers = (former("old"), former("older", pk=2))
    result = plan(NEW_ID, formers=formers, previous=("old", "older", "other"), done=("old", "older", "other"))
    assert result.insert == [Insert("new")]


def test_it_is_another_post_when_the_old_id_had_left_at_an_earlier_reading() -> None:
    assert plan(NEW_ID, previous=("other",), done=("old", "other")).insert == [Insert("new")]


def test_earlier_ids_of_the_same_post_do_not_make_its_link_stand_twice() -> None:
    formers = (former("old"), former("oldest", pk=2, repost=True))
    assert plan(NEW_ID, known("old"), formers=formers).rekey == {1: "new"}


def test_at_the_adding_nothing_is_a_repost() -> None:
    assert plan(NEW_ID, done=("old", "other"), start="all", first_polled_at=None).insert == [Insert("new")]


def test_a_post_that_changed_its_id_shows_that_it_is_still_there_to_those_before_it() -> None:
    """A post is withdrawn if an older one, under whatever id, is still in the document."""
    result = plan(NEW_ID, known("gone", pk=2), previous=("gone", "old"), done=("old", "other"))
    assert result.vanish == [2]


def test_reposts_do_not_count_as_new_for_a_flood() -> None:
    links = {f"new{n}": f"L{n}" for n in range(11)}
    formers = tuple(former(f"old{n}", f"L{n}", pk=n) for n in range(11))
    olds = tuple(f"old{n}" for n in range(11))
    result = plan(document(**links, fresh="F"), formers=formers, previous=olds, done=olds)
    assert result.insert[0] == Insert("fresh")
    assert {insert.excluded for insert in result.insert[1:]} == {REPOST}


def test_a_post_that_takes_its_earlier_id_again_has_it_back() -> None:
    result = plan(
        NEW_ID, known("old"), reposts=("new",), formers=(former("old"), former("new", pk=2, repost=True))
    )
    assert result == PollPlan(rekey={1: "new"}, confirm=[1])


def test_a_withdrawn_post_that_comes_back_under_an_earlier_id_is_new_again() -> None:
    result = plan(
        NEW_ID,
        known("old", vanished=True),
        previous=("other",),
        reposts=("new",),
        formers=(former("old"), former("new", pk=2, repost=True)),
    )
    assert result == PollPlan(rekey={1: "new"}, restart={1: "new"})


def test_a_post_that_was_done_and_takes_an_earlier_id_again_stays_done() -> None:
    result = plan(
        NEW_ID,
        done=("old", "other"),
        reposts=("new",),
        formers=(former("old"), former("new", pk=2, repost=True)),
    )
    assert result == PollPlan()


def test_in_a_push_what_may_be_a_repost_is_left_to_the_next_reading() -> None:
    result = plan(document(new="L"), known("old"), partial=True)
    assert (result, result.deferred) == (PollPlan(), ("new",))


def test_a_push_says_nothing_of_what_it_does_not_hold() -> None:
    result = plan(document(brand="B"), known("old"), previous=("old", "other"), partial=True)
    assert result == PollPlan(insert=[Insert("brand")])


def test_of_a_feed_that_makes_up_ids_only_the_latest_reposts_are_kept() -> None:
    reposts = tuple(former(f"id{n}", pk=n, repost=True) for n in range(2, KEPT_FOR_A_LINK + 4))
    last = reposts[-1].guid_hash
    result = plan(
        document(new="L", other="M"),
        formers=(former("first"), *reposts),
        previous=(last, "other"),
        done=("first", "other", *(one.guid_hash for one in reposts)),
    )
    assert sorted(result.forget) == [2, 3]
    assert (result.reposts, result.habitual) == (1, 1)


def test_a_first_or_second_new_id_is_no_habit() -> None:
    result = plan(NEW_ID, formers=(former("old"), former("id", pk=2, repost=True)), done=("old", "other"))
    assert (result.reposts, result.habitual) == (1, 0)


@pytest.mark.parametrize(
    ("doc", "previous", "unknown"),
    [
        (document(a="A", b="B", c="C"), ("x", "y", "z"), True),
        (document(a="A", b="B", other="C"), ("x", "y", "z"), False),
        (document(a="A", b="B"), ("x", "y", "z"), False),
        (document(a="A", b="B", c="C"), (), False),
    ],
)
def test_a_document_of_which_nothing_is_known_says_so(
    doc: Document, previous: tuple[str, ...], unknown: bool
) -> None:
    assert plan(doc, previous=previous, formers=()).all_unknown is unknown


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
    feed = a_feed(added_at=CORRECTED_ID_NOW - 300 * DAY, fetched_through=CORRECTED_ID_NOW - 10 * MINUTE)
    result = plan_document(Document(tuple(entries), entries), known, feed, moment=CORRECTED_ID_NOW)
    return [insert.id for insert in result.insert if insert.excluded == REPOST]


def at(days: float) -> datetime:
    return CORRECTED_ID_NOW - days * DAY


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
    posts = [(f"n{n}", data.draw(titles), CORRECTED_ID_NOW - n * step) for n in range(2 * window)]
    new = data.draw(st.integers(1, window))
    assert reposts(posts[new : new + window], posts[:window], 1.0) == []
