"""The plan of a reading, and the forecast that it gives.

A plan in words: each kind of change, and the item's state after it.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from feeds.models import Feed, Item
from feeds.rules.facts import BEYOND, Document, Insert, Known, PollPlan, Seen
from feeds.rules.finality import LEFT_WHILE_HELD
from feeds.rules.forecast import EVENTS, Forecast, forecast
from feeds.rules.plan import OLDER, THERE_BEFORE, plan_document
from feeds.rules.reposts import REPOST
from tests.feeds.rules.blog import a_feed, an_item

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
ADDED = NOW - timedelta(days=1)
FEED = a_feed(added_at=ADDED, hold_floods=False)
THEN = NOW - timedelta(minutes=10)
FORECAST_FEED = a_feed()


def document(
    *ids: str, published: dict[str, datetime] | None = None, hashes: dict[str, str] | None = None
) -> Document:
    entries = {id_: Seen((hashes or {}).get(id_, "h"), (published or {}).get(id_)) for id_ in ids}
    return Document(order=ids, entries=entries)


def known(
    id_: str,
    state: str = "unassigned",
    *,
    pk: int = 1,
    seen: int = 20,
    content_hash: str = "h",
    vanished: bool = False,
    rolled_off: bool = False,
) -> Item:
    since = NOW - timedelta(minutes=seen)
    return an_item(pk, id_, state, content_hash, since, vanished=vanished, rolled_off=rolled_off)


def adding(start: str, count: int = 0) -> Feed:
    return a_feed(added_at=ADDED, first_polled_at=None, start=start, start_count=count)


def plan(doc: Document, *rows: Item, previous: tuple[str, ...] = (), feed: Feed = FEED) -> PollPlan:
    return plan_document(doc, Known(rows, order=previous), feed, moment=NOW)


def excluded(result: PollPlan) -> dict[str, str]:
    return {insert.id: insert.excluded for insert in result.insert}


def test_from_now_on_excludes_everything_the_first_document_holds() -> None:
    result = plan(document("b", "a"), feed=adding("from_now"))
    assert excluded(result) == {"a": THERE_BEFORE, "b": THERE_BEFORE}


def test_the_last_n_are_taken_by_date_where_all_have_one() -> None:
    dates = {"a": NOW - timedelta(days=3), "b": NOW - timedelta(days=5), "c": NOW - timedelta(days=4)}
    result = plan(document("b", "c", "a", published=dates), feed=adding("last", 2))
    assert {id_ for id_, why in excluded(result).items() if not why} == {"a", "c"}


def test_the_last_n_are_taken_by_position_where_dates_are_missing() -> None:
    result = plan(document("new", "middle", "old"), feed=adding("last", 1))
    assert {id_ for id_, why in excluded(result).items() if not why} == {"new"}


def test_all_takes_everything_that_was_read_in_full() -> None:
    doc = Document(order=("b", "a"), entries={"b": Seen("h")})
    assert excluded(plan(doc, feed=adding("all"))) == {"a": THERE_BEFORE, "b": ""}


def test_a_new_entry_older_than_the_adding_is_excluded() -> None:
    result = plan(document("late", published={"late": ADDED}))
    assert excluded(result) == {"late": OLDER}


def test_a_new_entry_without_a_date_or_from_the_future_is_taken() -> None:
    result = plan(document("undated", "future", published={"future": NOW + timedelta(days=99)}))
    assert excluded(result) == {"undated": "", "future": ""}


def test_a_new_entry_beyond_what_is_read_in_full_is_remembered_but_not_sent() -> None:
    result = plan(Document(order=("new", "tail"), entries={"new": Seen("h")}))
    assert excluded(result) == {"new": "", "tail": BEYOND}


def test_inserts_come_oldest_first_so_that_keys_ascend_with_age() -> None:
    assert [insert.id for insert in plan(document("new", "old")).insert] == ["old", "new"]


def test_a_feed_that_pings_finalises_at_first_sight() -> None:
    (insert,) = plan(document("a"), feed=a_feed(0, 0, 0, added_at=ADDED)).insert
    assert insert.final
    (insert,) = plan(document("a")).insert
    assert not insert.final


def test_an_unchanged_entry_is_confirmed_and_final_once_it_has_waited() -> None:
    early = plan(document("a"), known("a", seen=20))
    assert (early.confirm, early.finalise) == ([1], [])
    late = plan(document("a"), known("a", seen=31))
    assert (late.confirm, late.finalise) == ([1], [1])


def test_an_edit_before_final_restarts_the_clock_with_the_new_text() -> None:
    result = plan(document("a", hashes={"a": "edited"}), known("a", seen=60))
    assert result.rewrite == {1: "a"}
    assert result.unsettle == [1]
    assert result.finalise == []


def test_an_edit_past_the_longest_delay_is_taken_and_final() -> None:
    result = plan(document("a", hashes={"a": "edited"}), known("a", seen=181))
    assert result.rewrite == {1: "a"}
    assert result.finalise == [1]


def test_an_assigned_item_takes_edits_and_nothing_else() -> None:
    result = plan(document("a", hashes={"a": "edited"}), known("a", "assigned"))
    assert result == PollPlan(rewrite={1: "a"})


@pytest.mark.parametrize("state", ["cleared", "excluded"])
def test_what_was_sent_or_excluded_is_ignored_for_ever(state: str) -> None:
    assert plan(document("a", hashes={"a": "edited"}), known("a", state)) == PollPlan()


def test_a_missing_item_is_withdrawn_while_an_older_entry_is_still_there() -> None:
    result = plan(document("new", "old"), known("gone", seen=400), previous=("new", "gone", "old"))
    assert (result.vanish, result.finalise) == ([1], [])


def test_a_missing_item_at_the_old_end_rolled_off_and_becomes_final() -> None:
    result = plan(document("newer", "new"), known("gone", seen=40), previous=("new", "gone"))
    assert (result.vanish, result.roll_off, result.finalise) == ([], [1], [1])


def test_a_document_without_entries_withdraws_nothing() -> None:
    result = plan(document(), known("a", seen=5), previous=("a", "old"))
    assert (result.vanish, result.roll_off, result.confirm) == ([], [], [1])


@pytest.mark.parametrize(
    ("shown", "previous", "aside"),
    [(("old",), ("a", "old"), [1]), (("b",), ("b", "a"), []), ((), ("a", "old"), [])],
)
def test_an_assigned_item_is_set_aside_where_one_that_waits_is_withdrawn(
    shown: tuple[str, ...], previous: tuple[str, ...], aside: list[int]
) -> None:
    result = plan(document(*shown), known("a", "assigned"), previous=previous)
    assert (result.set_aside, result.vanish, result.roll_off, result.confirm) == (aside, [], [], [])
    anyway = plan(document(*shown), known("a", "assigned", rolled_off=True), previous=previous)
    assert anyway.set_aside == []


@pytest.mark.parametrize("left", [(), ("b",), ("new", "more"), ("b", "old")])
def test_a_complete_document_withdraws_all_that_it_lacks(left: tuple[str, ...]) -> None:
    rows = known("a"), known("b", pk=2), known("c", "assigned", pk=3)
    complete = replace(document(*left), is_complete=True)
    result = plan(complete, *rows, previous=("b", "c", "a"), feed=a_feed(added_at=ADDED, hold_floods=True))
    assert (result.vanish, result.set_aside) == ([1] if "b" in left else [1, 2], [3])
    assert not result.roll_off
    assert not result.holds


def test_an_assigned_item_that_leaves_a_ranking_is_sent_all_the_same() -> None:
    hours = (3, 9, 1, 7, 2, 8)
    dates = {f"p{n}": NOW - timedelta(hours=hour) for n, hour in enumerate(hours)}
    result = plan(document(*dates, published=dates), known("a", "assigned"), previous=("p0", "a", *dates))
    assert result.set_aside == []
    in_order = dict(zip(dates, sorted(dates.values(), reverse=True), strict=True))
    pinned = {"pin": NOW - timedelta(days=90), **in_order}
    result = plan(document(*pinned, published=pinned), known("a", "assigned"), previous=("pin", "a", *dates))
    assert result.set_aside == [1]


@pytest.mark.parametrize(
    ("shown", "previous", "aside"),
    [
        (("new", "pin"), ("a", "pin"), []),
        (("n3", "n2", "n1", "pin"), ("a", "b", "c", "pin"), []),
        (("pin",), ("a", "pin"), [1]),
        (("new", "x", "y"), ("a", "x", "y"), [1]),
        (("x", "y", "z", "older"), ("x", "a", "y", "z"), [1]),
    ],
)
def test_an_assigned_item_that_gives_way_to_another_above_a_pinned_one_is_sent_all_the_same(
    shown: tuple[str, ...], previous: tuple[str, ...], aside: list[int]
) -> None:
    assert plan(document(*shown), known("a", "assigned"), previous=previous).set_aside == aside


def test_an_assigned_item_that_was_set_aside_comes_back_with_its_post() -> None:
    aside = an_item(1, "a", "assigned", "h", NOW - timedelta(minutes=20), set_aside=True)
    assert plan(document("old"), aside, previous=("old",)).take_back == []
    assert plan(document("a"), aside, previous=("old",)) == PollPlan(take_back=[1])
    edited = plan(document("a", hashes={"a": "edited"}), aside, previous=("old",))
    assert edited == PollPlan(take_back=[1], rewrite={1: "a"})


def test_an_assigned_item_that_was_to_be_sent_all_the_same_may_be_withdrawn_again() -> None:
    anyway = known("a", "assigned", rolled_off=True)
    assert plan(document("a"), anyway, previous=("old",)) == PollPlan(roll_back=[1])


def test_a_withdrawn_item_that_returns_is_new_again() -> None:
    result = plan(document("a"), known("a", vanished=True, seen=500))
    assert (result.restart, result.finalise) == ({1: "a"}, [])


def test_a_withdrawn_item_that_stays_away_is_left_alone() -> None:
    result = plan(document("other"), known("a", vanished=True, seen=500), previous=("a", "other"))
    assert (result.vanish, result.confirm, result.finalise) == ([], [], [])


def test_in_a_feed_that_appends_the_old_end_is_the_top() -> None:
    dates = {id_: NOW - timedelta(days=days) for id_, days in (("b", 3), ("c", 2), ("d", 1))}
    doc = document("b", "c", "d", published=dates)
    assert doc.newest_first() == ["d", "c", "b"]
    result = plan(doc, known("a"), previous=("d", "c", "b", "a"))
    assert (result.vanish, result.roll_off) == ([], [1])


def test_replaying_a_document_changes_nothing_but_the_check() -> None:
    assert plan(document("a"), known("a", seen=0)) == PollPlan(confirm=[1])


@pytest.mark.parametrize(("hours", "is_settled"), [(2.9, False), (3.1, True)])
def test_what_came_out_long_before_the_adding_is_settled_then(hours: float, is_settled: bool) -> None:
    dates = {"a": NOW - timedelta(hours=hours), "b": NOW - timedelta(days=9)}
    result = plan(document("a", "b", "undated", published=dates), feed=adding("last", 1))
    assert [(insert.id, insert.final) for insert in result.insert if insert.final] == [("a", True)][
        :is_settled
    ]
    later = plan(document("a", published=dates), previous=("b",))
    assert not any(insert.final for insert in later.insert)


def elsewhere(doc: Document, *, done: tuple[str, ...] = ()) -> PollPlan:
    """Plan the first reading of a feed that another program had read until an hour ago."""
    until = NOW - timedelta(hours=1)
    feed = a_feed(added_at=NOW - timedelta(days=30), read_elsewhere_until=until)
    return plan_document(doc, Known(done=done), feed, moment=NOW)


def test_what_another_program_may_have_sent_is_held_and_what_came_since_is_not() -> None:
    dates = {"new": NOW, "late": NOW - timedelta(hours=20), "odd": NOW - timedelta(days=3)}
    dates["old"] = NOW - timedelta(days=60)
    doc = document("new", "late", "odd", "undated", "known", "old", published=dates)
    rows = {insert.id: insert for insert in elsewhere(doc, done=("known",)).insert}
    assert {id_ for id_, row in rows.items() if row.held} == {"odd", "undated"}
    assert {id_ for id_, row in rows.items() if row.excluded} == {"old"}
    assert "known" not in rows


def test_what_another_program_forgot_is_no_flood() -> None:
    dates = {"new": NOW} | {f"old-{day}": NOW - timedelta(days=40 + day) for day in range(20)}
    result = elsewhere(document(*dates, published=dates))
    assert [insert.id for insert in result.insert if not insert.excluded and not insert.held] == ["new"]


def test_a_flood_after_another_program_is_held_all_the_same() -> None:
    dates = {f"new-{minute}": NOW - timedelta(minutes=minute) for minute in range(20)}
    assert all(insert.held for insert in elsewhere(document(*dates, published=dates)).insert)


def row(**changes: Any) -> Item:
    values = {"pk": 1, "guid_hash": "a", "content_hash": "x", "first_seen": THEN, "stable_since": THEN}
    return Item(**{**values, **changes})


def of(plan: PollPlan, *known: Item, done: tuple[Item, ...] = (), id_: str = "a") -> Forecast:
    return forecast(plan, known, done, FORECAST_FEED, moment=NOW)[id_]


@pytest.mark.parametrize(
    ("insert", "event", "fate", "settles"),
    [
        (Insert("a"), "new", "Waiting: it settles in 31 minutes", 31),
        (Insert("a", final=True), "settled at once", "Ready", None),
        (Insert("a", held=True), "held", "Held for you", None),
        (Insert("a", excluded=OLDER), "not taken", "Not sent: it was published before", None),
        (Insert("a", excluded=REPOST), "repost", "Not sent: it repeats an earlier post", None),
    ],
)
def test_new_items(insert: Insert, event: str, fate: str, settles: int | None) -> None:
    one = of(PollPlan(insert=[insert]))
    assert (one.event, one.pk) == (event, None)
    assert one.fate.startswith(fate)
    assert one.settles == (None if settles is None else NOW + timedelta(minutes=settles))


@pytest.mark.parametrize(
    ("plan", "changes", "event", "fate", "settles"),
    [
        (PollPlan(confirm=[1]), {}, "unchanged", "Waiting: it settles in 21 minutes", 21),
        (PollPlan(rewrite={1: "a"}, unsettle=[1]), {}, "changed", "Waiting: it settles in 21 minutes", 21),
        (
            PollPlan(rewrite={1: "a"}, unsettle=[1]),
            {"first_seen": NOW - timedelta(hours=1)},
            "changed",
            "Waiting: it settles in 16 minutes",
            16,
        ),
        (PollPlan(rewrite={1: "a"}, finalise=[1]), {}, "settles, changed", "Ready", None),
        (PollPlan(finalise=[1]), {}, "settles", "Ready", None),
        (PollPlan(vanish=[1]), {}, "withdrawn", "Not sent: it was removed", None),
        (PollPlan(vanish=[1]), {"final_at": THEN}, "withdrawn", "Not sent: it was removed", None),
        (PollPlan(restart={1: "a"}), {"vanished_at": THEN}, "back", "Waiting: it settles in 31 minutes", 31),
        (PollPlan(roll_off=[1], confirm=[1]), {}, "rolled off", "Waiting: it settles in 21 minutes", 21),
        (PollPlan(drop=[1]), {"held_at": THEN}, "dropped", "Not sent: it left the feed while too many", None),
        (PollPlan(confirm=[1]), {"held_at": THEN}, "unchanged", "Held for you", None),
        (
            PollPlan(rewrite={1: "a"}),
            {"state": "assigned"},
            "changed",
            "Ready, and added to the next issues",
            None,
        ),
    ],
)
def test_items_that_are_known(
    plan: PollPlan, changes: dict[str, Any], event: str, fate: str, settles: int | None
) -> None:
    one = of(plan, row(**changes))
    assert (one.event, one.pk) == (event, 1)
    assert one.fate.startswith(fate)
    assert one.settles == (None if settles is None else NOW + timedelta(minutes=settles))


def test_an_item_that_left_at_the_old_end_says_so_until_it_is_back() -> None:
    assert "pushed it out of the feed" in of(PollPlan(roll_off=[1]), row()).fate
    assert "pushed it out of the feed" in of(PollPlan(confirm=[1]), row(rolled_off_at=THEN)).fate
    assert "pushed" not in of(PollPlan(roll_back=[1], confirm=[1]), row(rolled_off_at=THEN)).fate


def test_a_renamed_item_is_found_under_its_new_id() -> None:
    one = of(PollPlan(rekey={1: "b"}, confirm=[1]), row(), id_="b")
    assert (one.event, one.pk) == ("renamed", 1)
    assert "a" not in forecast(PollPlan(rekey={1: "b"}), [row()], (), FORECAST_FEED, moment=NOW)


@pytest.mark.parametrize(
    ("state", "reason", "fate"),
    [("cleared", "", "Done"), ("excluded", LEFT_WHILE_HELD, "Not sent: it left the feed while too many")],
)
def test_what_is_done_stays_as_it_is(state: str, reason: str, fate: str) -> None:
    one = of(PollPlan(), done=(row(pk=7, state=state, reason=reason),))
    assert (one.event, one.pk, one.is_quiet) == ("unchanged", 7, True)
    assert one.fate.startswith(fate)


def test_items_of_a_feed_that_is_not_read_say_so() -> None:
    found = forecast(PollPlan(confirm=[1]), [row()], (), a_feed(status="paused"), moment=NOW)
    assert "its feed isn’t being read" in found["a"].fate


def test_every_event_has_a_reason() -> None:
    assert all(of(PollPlan(insert=[Insert("a")])).why and text.endswith(".") for text in EVENTS.values())
