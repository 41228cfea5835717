"""Sequences in parts of a limited size."""

from hypothesis import given
from hypothesis import strategies as st

from common.db.bulk import batched


@given(st.lists(st.integers()), st.integers(1, 9))
def test_all_rows_come_once_in_their_order_and_never_more_than_asked_for(rows: list[int], size: int) -> None:
    parts = list(batched(rows, size))
    assert [row for part in parts for row in part] == rows
    assert all(0 < len(part) <= size for part in parts)
    assert all(len(part) == size for part in parts[:-1])
