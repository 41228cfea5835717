"""The page about mail services matches the program."""

from tests.documentation.service_events import PAGE, page


def test_the_page_is_made_from_the_table() -> None:
    """After a change of the table: python -m tests.documentation.service_events."""
    assert PAGE.read_text(encoding="utf-8") == page()
