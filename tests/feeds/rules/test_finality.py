"""When an item is final, and floods of items.

When new posts are a flood, and the effect of holding them.
"""

from datetime import UTC, datetime, timedelta

import pytest

from feeds.models import Feed, Item
from feeds.rules.facts import BEYOND, Document, Known, PollPlan, Seen
from feeds.rules.finality import HELD_AT_MOST, at_first_sight, is_final, is_flood
from feeds.rules.plan import plan_document, plan_unchanged
from tests.feeds.rules.blog import a_feed, an_item

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
DEFAULT = a_feed(30, 15, 180)
ADDED = NOW - timedelta(days=1)
PING = a_feed(0, 0, 0, added_at=ADDED)


def final(seen: float, stable: float, *, changed: bool = False, feed: Feed = DEFAULT) -> bool:
    return is_final(
        feed,
        first_seen=NOW - timedelta(minutes=seen),
        stable_since=NOW - timedelta(minutes=stable),
        moment=NOW,
        changed=changed,
    )


@pytest.mark.parametrize(("seen", "expected"), [(30, False), (30.99, False), (31, True)])
def test_the_shortest_delay_is_counted_in_whole_minutes_and_must_be_exceeded(
    seen: float, expected: bool
) -> None:
    assert final(seen, seen) is expected


@pytest.mark.parametrize(("stable", "expected"), [(15, False), (15.99, False), (16, True)])
def test_it_must_have_been_stable_for_more_than_the_wait(stable: float, expected: bool) -> None:
    assert final(60, stable) is expected


def test_a_change_at_this_very_poll_counts_only_towards_the_longest_delay() -> None:
    assert not final(180, 100, changed=True)
    assert final(181, 100, changed=True)


def test_a_post_that_keeps_changing_is_final_after_the_longest_delay() -> None:
    assert final(181, 0)
    assert not final(180, 0)


def test_zeros_still_need_a_minute_except_at_first_sight() -> None:
    ping = a_feed(0, 0, 0)
    assert at_first_sight(ping)
    assert not final(0.5, 0.5, feed=ping)
    assert final(1, 1, feed=ping)


@pytest.mark.parametrize(
    ("new", "shown", "flood"),
    [(11, 21, True), (11, 22, False), (10, 10, False), (11, 11, True), (100, 150, True), (100, 200, False)],
)
def test_more_than_ten_and_more_than_half_are_a_flood(new: int, shown: int, flood: bool) -> None:
    assert is_flood(new, shown) is flood


def document(count: int, **entries: Seen | None) -> Document:
    made: dict[str, Seen | None] = {**{f"post{n}": Seen("h") for n in range(count)}, **entries}
    return Document(tuple(made), {id_: entry for id_, entry in made.items() if entry is not None})


def held(pk: int, **are: bool) -> Item:
    return an_item(pk, f"held{pk}", "unassigned", "h", NOW - timedelta(days=3), held=True, **are)


def plan(
    doc: Document,
    *rows: Item,
    previous: tuple[str, ...] = (),
    done: tuple[str, ...] = (),
    feed: Feed | None = None,
    partial: bool = False,
) -> PollPlan:
    known = Known(rows, done, order=previous)
    return plan_document(doc, known, feed or a_feed(added_at=ADDED), moment=NOW, partial=partial)


def test_a_flood_is_held_as_a_whole() -> None:
    result = plan(document(11))
    assert [insert.held for insert in result.insert] == [True] * 11
    assert result.holds


def test_a_flood_is_not_held_at_the_adding_nor_when_the_admin_wants_none_held() -> None:
    for fields in ({"start": "all", "first_polled_at": None}, {"hold_floods": False}):
        result = plan(document(11), feed=a_feed(added_at=ADDED, **fields))
        assert {insert.held for insert in result.insert} == {False}
        assert not result.holds


def test_what_is_excluded_counts_as_new_and_is_not_held() -> None:
    old = Seen("h", ADDED - timedelta(days=1))
    few = plan(document(8, old=old, tail=None))
    assert {insert.held for insert in few.insert} == {False}
    flood = plan(document(9, old=old, tail=None))
    assert {insert.id for insert in flood.insert if not insert.held} == {"old", "tail"}
    assert {insert.excluded for insert in flood.insert if insert.id == "tail"} == {BEYOND}


@pytest.mark.parametrize("count", [1, 2, 3, 10])
def test_a_document_of_which_nothing_was_known_is_held_however_few_posts_it_has(count: int) -> None:
    result = plan(document(count), done=("x", "y"), previous=("x", "y"))
    assert [insert.held for insert in result.insert] == [True] * count
    known = plan(document(count, y=Seen("h")), done=("x", "y"), previous=("x", "y"))
    assert not any(insert.held for insert in known.insert)


def test_the_first_posts_of_a_feed_that_was_empty_are_not_held() -> None:
    assert not any(insert.held for insert in plan(document(3)).insert)


def test_a_pushed_flood_is_held_too() -> None:
    assert all(insert.held for insert in plan(document(11), partial=True).insert)


def test_a_held_post_of_a_feed_that_pings_does_not_settle_at_first_sight() -> None:
    assert {insert.final for insert in plan(document(11), feed=PING).insert} == {False}


def test_dates_in_the_future_neither_delay_nor_exclude_nor_hold() -> None:
    future = Seen("h", NOW + timedelta(days=900))
    (insert,) = plan(Document(("a",), {"a": future}), feed=PING).insert
    assert (insert.excluded, insert.held, insert.final) == ("", False, True)
    since = NOW - timedelta(minutes=31)
    waiting = an_item(1, "a", "unassigned", "h", since)
    assert plan(Document(("a",), {"a": future}), waiting, previous=("a",)).finalise == [1]


def test_what_is_held_is_confirmed_rewritten_and_withdrawn_but_never_final() -> None:
    order = ("held1", "held2", "held3")
    seen = Document(order, {id_: Seen("edited" if id_ == "held2" else "h") for id_ in order})
    result = plan(seen, held(1), held(2), held(3), previous=order)
    assert result == PollPlan(rewrite={2: "held2"}, unsettle=[2], confirm=[3, 2, 1])
    gone = plan(Document(("held3",), {"held3": Seen("h")}), held(1), held(3), previous=order)
    assert (gone.vanish, gone.finalise, gone.holds) == ([1], [], True)
    rolled = plan(Document(("x",), {"x": Seen("h")}), held(1), previous=("x", "held1"))
    assert (rolled.roll_off, rolled.finalise) == ([1], [])
    same = plan_unchanged(Known([held(1)]), a_feed(), moment=NOW)
    assert (same, same.holds) == (PollPlan(confirm=[1]), True)


def test_a_held_post_that_was_withdrawn_and_is_back_is_held_again() -> None:
    result = plan(Document(("held1",), {"held1": Seen("h")}), held(1, vanished=True), feed=PING)
    assert (result.restart, result.finalise, result.holds) == ({1: "held1"}, [], True)


def test_nothing_is_held_when_the_last_held_post_was_withdrawn() -> None:
    result = plan(Document(("old",), {"old": Seen("h")}), held(1), previous=("held1", "old"), done=("old",))
    assert (result.vanish, result.holds) == ([1], False)


def test_of_too_many_held_posts_that_left_the_feed_the_oldest_are_dropped() -> None:
    rows = [held(pk, rolled_off=True) for pk in range(1, HELD_AT_MOST + 1)]
    there = Document(("held2",), {"held2": Seen("h")})
    assert plan(there, *rows).drop == []
    result = plan(document(12), *rows)
    assert result.drop == list(range(1, 13))
    assert not set(result.drop) & {*result.confirm, *result.vanish}
    assert plan(Document((), {}), *rows, held(0)).drop == [], "an empty document says nothing"
