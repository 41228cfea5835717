"""The changes that a line of a list may make.

Spreadsheet formulas are escaped as text, and unescaped on import.
Times in the formats of other programs.
"""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from subscriptions.rules.lists.formulas import as_text, from_text
from subscriptions.rules.lists.rows import (
    LONGEST_CELL,
    KnownSubscriber,
    ListRow,
    NoTime,
    RowChange,
    UnusableLine,
    after,
    change,
    read_moment,
    read_row,
    warning,
)

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SIGNS = "=+-@＝＋－＠\t\r"
CELLS = st.text(alphabet=f"'{SIGNS};,\nab", max_size=8) | st.text(max_size=20)
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
STATUSES = ("confirmed", "unconfirmed", "unsubscribed", "suppressed")
names = st.sampled_from(["", "Ada", "Grace"])
rows = st.builds(ListRow, st.just("a@example.org"), names, st.sampled_from(STATUSES), names)
knowns = st.builds(KnownSubscriber, st.sampled_from(["", *STATUSES[:3]]), names, names, st.booleans())


@given(knowns, st.lists(rows, max_size=6))
def test_no_list_brings_anybody_back_or_lifts_a_suppression(
    known: KnownSubscriber, lines: list[ListRow]
) -> None:
    then = known
    for line in lines:
        try:
            following = after(line, then)
        except UnusableLine:
            assert then.suppressed or then.status == "unsubscribed"
            continue
        assert following.suppressed >= then.suppressed
        if then.status == "unsubscribed":
            assert following.status == "unsubscribed"
        if then.status == "confirmed":
            assert following.status in ("confirmed", "unsubscribed")
        then = following


@given(knowns, rows)
def test_the_same_line_again_changes_nothing(known: KnownSubscriber, line: ListRow) -> None:
    try:
        once = after(line, known)
    except UnusableLine:
        return
    assert once.status
    assert after(line, once) == once
    assert change(once, after(line, once)) is RowChange.NOTHING


@pytest.mark.parametrize(
    ("facts", "status"),
    [({}, "unconfirmed"), ({"confirmed": NOW}, "confirmed"), ({"left": NOW}, "unsubscribed")],
)
def test_who_is_suppressed_never_becomes_more_than_the_list_says_they_were(
    facts: dict[str, Any], status: str
) -> None:
    then = after(ListRow("a@example.org", status="suppressed", **facts), KnownSubscriber())
    assert (then.status, then.suppressed) == (status, True)


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"language": "Deutsch, bitte"}, "isn’t a language"),
        ({"consent_ip": "here"}, "isn’t an IP address"),
        ({"upstream_id": "0"}, "isn’t a subscription number"),
        ({"upstream_id": "²"}, "isn’t a subscription number"),
        ({"upstream_id": str(2**63)}, "isn’t a subscription number"),
        ({"name": "x" * (LONGEST_CELL + 1)}, "longer than"),
        ({"name": "a\0b"}, "NUL"),
        ({"name": "a\nb@example.org,b"}, "quotation mark"),
    ],
)
def test_a_cell_that_cannot_be_meant_is_named(cells: dict[str, str], reason: str) -> None:
    with pytest.raises(UnusableLine, match=reason):
        read_row({"email": "a@example.org", **cells}, now=NOW)


@pytest.mark.parametrize("text", ["soon", "2999-01-01", "3/4/2026", "0000-00-00", "1970-01-01"])
def test_a_date_that_cannot_be_read_costs_the_date_not_the_person(text: str) -> None:
    row = read_row({"email": "a@example.org", "added": text, "confirmed": "2026-01-02"}, now=NOW)
    assert (row.added, row.confirmed, row.has_lost_a_date) == (None, datetime(2026, 1, 2, tzinfo=UTC), True)
    assert not read_row({"email": "a@example.org", "added": ""}, now=NOW).has_lost_a_date


@pytest.mark.parametrize(
    ("outcomes", "facts", "words"),
    [
        ({"gets": 4, "unreadable": 5}, {}, "5 of 9 would be refused"),
        ({"gets": 5, "unreadable": 5}, {}, ""),
        ({"gets": 40, "unsubscribed": 30, "suppressed": 11}, {}, "41 of 81 would be unsubscribed"),
        ({"gets": 1, "unsubscribed": 5}, {}, ""),
        ({"unsubscribed": 9}, {"status": "unsubscribed"}, ""),
        ({"unsubscribed": 9}, {"status": "unsubscribed", "ending": 9, "receiving": 10}, "9 of the 10 people"),
        ({"unsubscribed": 9}, {"status": "unsubscribed", "ending": 9, "receiving": 900}, ""),
        ({"gets": 2, "unreadable": 2, "repeated": 9}, {}, ""),
    ],
)
def test_an_import_that_harms_most_of_a_list_is_warned_about(
    outcomes: dict[str, int], facts: dict[str, Any], words: str
) -> None:
    sentence = warning(outcomes, **{"status": "confirmed", "ending": 0, "receiving": 0, **facts})
    assert words in sentence
    assert bool(words) == bool(sentence)


def test_words_of_consent_may_have_several_lines() -> None:
    row = read_row({"email": "a@example.org", "consent_words": "I want it.\nReally."}, now=NOW)
    assert row.proof.words == "I want it.\nReally."


@given(CELLS)
@example("'=1")
@example("''")
def test_every_cell_comes_back_as_it_was(cell: str) -> None:
    assert from_text(as_text(cell)) == cell


@given(CELLS)
def test_no_cell_begins_like_a_formula(cell: str) -> None:
    assert as_text(cell)[:1] not in tuple(SIGNS)


@given(CELLS, st.sampled_from([";", ",", "\t"]))
@example("\f=1", ";")
@example("\u2028=1", ";")
def test_nor_does_any_cell_that_a_system_makes_of_it_by_its_own_separator(cell: str, separator: str) -> None:
    for line in as_text(cell).splitlines():
        for part in line.split(separator):
            assert part[:1] not in tuple("=+-@＝＋－＠")


def test_plain_cells_stay_as_they_are() -> None:
    assert as_text("Ada O’Brien") == "Ada O’Brien"
    assert as_text("'tis") == "'tis" == from_text("'tis")


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-02 12:00:00",
        "2026-03-02T12:00:00Z",
        "2026-03-02 12:00:00 UTC",
        "2026-03-02 12:00:00 +0000 UTC",
        "2026-03-02 12:00:00.0 +0000 UTC",
        "2026-03-02 12:00:00.00001 +0000 UTC",
        "2026-03-02 14:00:00.123456789 +0200 CEST",
        "2026-03-02 06:30:00 -0530 -0530",
        "1772452800",
        "1772452800000",
    ],
)
def test_a_time_is_read_in_whatever_form(text: str) -> None:
    assert read_moment(text) == NOON


@pytest.mark.parametrize(
    ("text", "dates", "day"),
    [
        ("3/4/2026", "dmy", (2026, 4, 3)),
        ("3/4/2026", "mdy", (2026, 3, 4)),
        ("03-04-2026", "dmy", (2026, 4, 3)),
        ("3.4.2026", "", (2026, 4, 3)),
        ("31/12/2025", "", (2025, 12, 31)),
        ("12/31/2025", "", (2025, 12, 31)),
        ("31/12/2025", "mdy", (2025, 12, 31)),
        ("5/5/2026 07:30", "", (2026, 5, 5)),
    ],
)
def test_days_are_read_in_the_order_that_was_said_or_can_only_be_meant(
    text: str, dates: str, day: tuple[int, int, int]
) -> None:
    read = read_moment(text, dates)
    assert (read.year, read.month, read.day) == day


def test_what_may_be_two_days_is_asked_about() -> None:
    with pytest.raises(NoTime, match="“3/4/2026” may be two days"):
        read_moment("3/4/2026")


@given(st.text("0123456789-/.: +TZCES", max_size=30), st.sampled_from(["", "dmy", "mdy"]))
def test_any_other_text_is_said_to_be_no_time(text: str, dates: str) -> None:
    try:
        read = read_moment(text, dates)
    except NoTime:
        return
    assert read.tzinfo is UTC
