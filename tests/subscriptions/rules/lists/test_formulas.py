"""Spreadsheet formulas are escaped as text, and unescaped on import."""

from hypothesis import example, given
from hypothesis import strategies as st

from subscriptions.rules.lists.formulas import as_text, from_text

SIGNS = "=+-@＝＋－＠\t\r"
CELLS = st.text(alphabet=f"'{SIGNS};,\nab", max_size=8) | st.text(max_size=20)


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
