from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from common.cli.commands import cell, cut_to_width, record, table_lines
from common.text import text_width

ROWS = [{"id": 1, "title": "Short"}, {"id": 12, "title": "A longer title"}]


def test_columns_are_aligned() -> None:
    assert list(table_lines(ROWS)) == ["id  title", "1   Short", "12  A longer title"]


def test_wide_characters_take_two_columns() -> None:
    lines = list(table_lines([{"title": "日本", "x": 1}, {"title": "abcd", "x": 2}]))
    assert lines == ["title  x", "日本   1", "abcd   2"]


def test_nothing_is_cut_where_there_is_no_terminal() -> None:
    assert list(table_lines([{"title": "w" * 500}]))[1] == "w" * 500


def test_the_widest_column_is_cut_on_a_terminal() -> None:
    assert list(table_lines([{"id": 7, "title": "w" * 500}], room=30))[1] == "7   " + "w" * 25 + "…"


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=5), st.integers(20, 100))
def test_a_line_fits_the_terminal(texts: list[tuple[str, str]], room: int) -> None:
    rows = [{"a": one, "b": two} for one, two in texts]
    assert all(text_width(line) <= room for line in table_lines(rows, room=room))


@given(st.text(), st.integers(1, 20))
def test_a_cut_text_is_no_wider_than_allowed(text: str, limit: int) -> None:
    assert text_width(cut_to_width(text, limit)) <= limit


def test_a_title_cannot_steer_the_terminal() -> None:
    assert cell("a\x1b[31mb\nc\u202ed\x9be") == "a�[31mb�c�d�e"


def test_times_have_an_offset() -> None:
    assert cell(datetime(2026, 3, 2, 12, tzinfo=UTC)) == "2026-03-02T12:00:00+00:00"


def test_rows_stream() -> None:
    taken = 0

    def many() -> object:
        nonlocal taken
        while True:
            taken += 1
            yield {"n": taken}

    lines = table_lines(many())  # type: ignore[arg-type]
    assert [next(lines) for _ in range(3)] == ["n", "1", "2"]
    assert taken <= 201


def test_a_record_has_its_names_at_the_left() -> None:
    assert list(record({"id": 3, "sent_at": None, "done": True})) == [
        "id       3",
        "sent_at  –",
        "done     yes",
    ]
