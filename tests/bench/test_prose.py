"""Docstrings and comments without phrases that no comparable project has."""

import pytest

from bench.prose import faults, texts


@pytest.mark.parametrize(
    "source",
    [
        '"""What is kept."""',
        "# For whoever reads it.\nA = 1",
        "def f():\n    # It is kept. What\n    # was there goes.\n    return 1",
        'class A:\n    """Those that wait."""',
        "A = 1  # stands there",
        f'"""{"word " * 21}"""',
    ],
)
def test_a_mannered_or_long_text_is_a_fault(source: str) -> None:
    assert len(list(faults(source))) == 1


@pytest.mark.parametrize(
    "source",
    [
        '"""Return what is kept."""',
        "A = 1  # noqa: E501 - whoever",
        "# 1 stands for one\nA = 1",
        "A = 'What is'",
    ],
)
def test_plain_words_marks_for_tools_and_texts_of_the_program_are_none(source: str) -> None:
    assert list(faults(source)) == []


def test_comments_in_consecutive_lines_are_one_text() -> None:
    assert [each.words for each in texts("# One\n# two\nA = 1\n# three\n")] == ["One two", "three"]
