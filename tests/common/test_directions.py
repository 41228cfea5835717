"""The direction of a post's text and title."""

import pytest
from django.test import RequestFactory

from common.directions import direction, language_tag, text_direction, title_direction
from common.languages import asked_for, spoken_variety

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


@pytest.mark.parametrize(
    ("tag", "spoken"),
    [
        ("en", "en"),
        ("en-US", "en"),
        ("en-Latn-US", "en"),
        ("en-PH", "en"),
        ("en-GB", "en-gb"),
        ("en-AU", "en-gb"),
        ("en-IN", "en-gb"),
        ("en-GB-oxendict", "en-gb"),
        ("en-150", "en-gb"),
        ("pt-BR", "pt-br"),
        ("pt-AO", "pt"),
        ("de", "de"),
    ],
)
def test_english_and_portuguese_have_two_varieties_and_the_others_one(tag: str, spoken: str) -> None:
    assert spoken_variety(tag) == spoken


def test_a_language_that_nobody_translated_is_not_near() -> None:
    for tag in ("it", "", "x y"):
        with pytest.raises(LookupError):
            spoken_variety(tag)


@pytest.mark.parametrize(
    ("header", "spoken"),
    [
        ("en-AU,en;q=0.9", "en-gb"),
        ("it,en-GB;q=0.8,en-US;q=0.7", "en-gb"),
        ("en-US,en-GB;q=0.8", "en"),
        ("fr-CA", "fr"),
        ("*", "en"),
        ("it", "en"),
        ("", "en"),
        ("," * 9_000, "en"),
    ],
)
def test_the_first_language_of_the_browser_that_is_spoken(header: str, spoken: str) -> None:
    assert asked_for(RequestFactory().get("/", headers={"accept-language": header})) == spoken
