"""The same post under a new id: how it is recognised, and the fate of both ids."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from feeds.models import Item
from feeds.rules.facts import Document, Insert, Known, PollPlan, Seen
from feeds.rules.plan import OLDER, plan_document
from feeds.rules.reposts import KEPT_FOR_A_LINK, REPOST
from tests.feeds.rules.blog import a_feed, an_item

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
