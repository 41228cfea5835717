"""The changes that a line of a list may make."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subscriptions.rules.lists.rows import (
    LONGEST_CELL,
    KnownSubscriber,
    ListRow,
    RowChange,
    UnusableLine,
    after,
    change,
    read_row,
)

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
        ({"consent_at": "soon"}, "is not a time"),
        ({"left": "2999-01-01"}, "in the future"),
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


def test_words_of_consent_may_have_several_lines() -> None:
    row = read_row({"email": "a@example.org", "consent_words": "I want it.\nReally."}, now=NOW)
    assert row.proof.words == "I want it.\nReally."
