"""Docstrings and comments without phrases that no comparable project has."""

from pathlib import Path

import pytest

from bench.prose import faults, sentences, texts, wrong_words


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
    assert len(list(faults(texts(source)))) == 1


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
    assert list(faults(texts(source))) == []


def test_comments_in_consecutive_lines_are_one_text() -> None:
    assert [each.words for each in texts("# One\n# two\nA = 1\n# three\n")] == ["One two", "three"]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.py", "A = _('It goes out on Monday.')"),
        ("a.py", "A = f'{count} letters wait for you'"),
        ("a.html", '<p title="Whoever reads it">…</p>'),
        ("a.html", '{% translate "Send me a test mail" %}'),
        ("a.md", "An e-mail to you."),
    ],
)
def test_a_word_of_the_list_is_found_in_what_people_read(tmp_path: Path, name: str, source: str) -> None:
    path = tmp_path / name
    path.write_text(source)
    assert [line for line, _ in wrong_words(path)] == [1]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.py", 'def f():\n    """It goes out on Monday."""'),
        ("a.py", "A = 'letter.html'"),
        ("a.py", "A = 'SELECT letter FROM them as it goes'"),
        ("a.py", "A = r'no such letter|letter(?: is)? refused by'"),
        ("a.py", "A = 'Such as digest or mails/welcome.'"),
        ("a.py", "A = 'Use capital letters or letters and digits.'"),
        ("a.html", '{# It goes out. #}<script>let it = "goes out"</script>{% if letter %}'),
        ("a.md", "Run `goes` or\n```\nit goes\n```\nand see [this page](letters.md)."),
        ("a.md", "Choose your mail server."),
    ],
)
def test_code_comments_and_names_are_not_read(tmp_path: Path, name: str, source: str) -> None:
    path = tmp_path / name
    path.write_text(source)
    assert list(wrong_words(path)) == []


def test_sentences_have_their_line_and_a_mark_for_what_is_filled_in(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text("{% load i18n %}\n<p>{% if a %}\nSent to {{ count }} people.</p>")
    assert list(sentences(path)) == [(3, "Sent to … people.")]
