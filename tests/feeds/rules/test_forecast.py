"""A plan in words: each kind of change, and the item's state after it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from feeds.models import Item
from feeds.rules.facts import Insert, PollPlan
from feeds.rules.finality import LEFT_WHILE_HELD
from feeds.rules.forecast import EVENTS, Forecast, forecast
from feeds.rules.plan import OLDER
from feeds.rules.reposts import REPOST
from tests.feeds.rules.blog import a_feed

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
THEN = NOW - timedelta(minutes=10)
FEED = a_feed()


def row(**changes: Any) -> Item:
    values = {"pk": 1, "guid_hash": "a", "content_hash": "x", "first_seen": THEN, "stable_since": THEN}
    return Item(**{**values, **changes})


def of(plan: PollPlan, *known: Item, done: tuple[Item, ...] = (), id_: str = "a") -> Forecast:
    return forecast(plan, known, done, FEED, moment=NOW)[id_]


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
    assert "a" not in forecast(PollPlan(rekey={1: "b"}), [row()], (), FEED, moment=NOW)


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
