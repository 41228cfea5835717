"""How often a feed publishes, and how restless it is."""

from datetime import UTC, datetime, timedelta

import pytest

from feeds.models import Item
from feeds.rules.facts import Document, Known, PollPlan, Seen
from feeds.rules.plan import plan_document
from feeds.rules.rhythm import LONGEST_RHYTHM, restless_after, rhythm_minutes
from tests.feeds.rules.blog import a_feed, an_item

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def ago(*minutes: float) -> list[datetime]:
    return [NOW - timedelta(minutes=one) for one in minutes]


def test_the_rhythm_is_the_median_gap_in_whatever_order() -> None:
    assert rhythm_minutes(ago(0, 10, 30, 1000), NOW) == 20
    assert rhythm_minutes(ago(1000, 0, 30, 10), NOW) == 20


@pytest.mark.parametrize("minutes", [(), (5,), (5, 10), (5, 5, 5, 10)])
def test_two_moments_are_no_rhythm(minutes: tuple[float, ...]) -> None:
    assert rhythm_minutes(ago(*minutes), NOW) is None


def test_the_latest_twenty_count() -> None:
    assert rhythm_minutes(ago(*range(0, 200, 10), *range(10_000, 90_000, 1000)), NOW) == 10


def test_the_future_does_not_count() -> None:
    assert rhythm_minutes(ago(-100, -50, 0, 10, 20), NOW) == 10
    assert rhythm_minutes(ago(-100, -50, 0, 10), NOW) is None


def test_a_rhythm_is_at_least_a_minute_and_at_most_a_year() -> None:
    assert rhythm_minutes(ago(0, 0.1, 0.2), NOW) == 1
    year_one = [datetime(year, 1, 1, tzinfo=UTC) for year in (1, 900, 1800)]
    assert rhythm_minutes(year_one, NOW) == LONGEST_RHYTHM


def test_restless_readings_are_counted_in_a_row() -> None:
    assert [restless_after(2, restless) for restless in (True, False, None)] == [3, 0, 2]


def read(hashes: dict[str, str], *rows: Item, partial: bool = False) -> PollPlan:
    return plan_document(
        Document(tuple(hashes), {id_: Seen(hash_) for id_, hash_ in hashes.items()}),
        Known(rows, order=tuple(hashes)),
        a_feed(added_at=NOW),
        moment=NOW,
        partial=partial,
    )


def known(pk: int, id_: str, state: str = "unassigned", changes: int = 0) -> Item:
    item = an_item(pk, id_, state, "h", NOW)
    item.changes = changes
    return item


def test_a_reading_is_restless_when_all_that_may_change_had_changed() -> None:
    both = known(1, "a"), known(2, "b", "assigned")
    assert read({"a": "x", "b": "x"}, *both).restless is True
    assert read({"a": "x", "b": "h"}, *both).restless is False
    assert read({"new": "x"}).restless is None


def test_what_has_not_changed_this_time_comes_to_rest() -> None:
    rows = known(1, "a", changes=2), known(2, "b", changes=2), known(3, "c")
    assert read({"a": "h", "b": "x", "c": "h"}, *rows).calm == [1]


def test_a_push_tells_nothing_of_rest() -> None:
    assert read({"a": "h"}, known(1, "a", changes=2), partial=True).calm == []
