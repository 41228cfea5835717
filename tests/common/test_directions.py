"""The direction of a post's text and title."""

import pytest

from common.directions import direction, language_tag, text_direction, title_direction

ARABIC = "هذا الهاتف الجديد من آبل"


@pytest.mark.parametrize(
    ("text", "language", "runs"),
    [
        (ARABIC, "", "rtl"),
        (f"iPhone 17: {ARABIC}", "", "rtl"),
        ("iPhone 17 Pro Max, Galaxy S26 Ultra: هاتف", "ar", "rtl"),
        ("iPhone 17 Pro Max, Galaxy S26 Ultra: هاتف", "", "ltr"),
        ("مرحبا means hello in Arabic", "en", "ltr"),
        ("Nothing but English", "ar", "ltr"),
        ("שלום", "ar-Latn", "rtl"),
        ("123 …", "he", "rtl"),
        ("", "en", "ltr"),
        ("日本語の文章です。", "", "ltr"),
    ],
)
def test_a_text_runs_as_most_of_its_letters_do_or_as_its_language_does(
    text: str, language: str, runs: str
) -> None:
    assert text_direction(text, language) == runs


@pytest.mark.parametrize(
    ("title", "of_text", "runs"),
    [
        (f"iPhone 17: {ARABIC}", "rtl", "rtl"),
        ("مرحبا means hello in Arabic", "ltr", "ltr"),
        ("iPhone 17", "rtl", "ltr"),
        (ARABIC, "ltr", "rtl"),
        ("17", "rtl", "rtl"),
    ],
)
def test_a_title_runs_as_its_text_does_if_it_can(title: str, of_text: str, runs: str) -> None:
    assert title_direction(title, of_text) == runs


@pytest.mark.parametrize("language", ["ar", "ar-EG", "he", "fa_IR", "ur", "yi", "az-Arab"])
def test_these_languages_run_from_right_to_left(language: str) -> None:
    assert direction(language) == "rtl"


@pytest.mark.parametrize("language", ["en", "de-AT", "", "zh-Hans", "ar-Latn", "x y"])
def test_these_languages_run_from_left_to_right(language: str) -> None:
    assert direction(language) == "ltr"


@pytest.mark.parametrize("nonsense", ['en" onload="x', "x" * 40, "../de", "<b>", "é"])
def test_nonsense_is_no_language_tag(nonsense: str) -> None:
    assert language_tag(nonsense) == ""
