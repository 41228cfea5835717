"""The page about mail services says what the program does."""

from tests.documentation.service_events import PAGE, page


def test_the_page_is_made_from_the_table() -> None:
    """After a change of the table: python -m tests.documentation.service_events."""
    assert PAGE.read_text(encoding="utf-8") == page()
