import pytest

from delivery.rendering.languages import direction, language_tag, spoken


@pytest.mark.parametrize("language", ["ar", "ar-EG", "he", "fa_IR", "ur", "yi", "az-Arab"])
def test_these_run_from_right_to_left(language: str) -> None:
    assert direction(language) == "rtl"


@pytest.mark.parametrize("language", ["en", "de-AT", "", "zh-Hans", "ar-Latn", "x y"])
def test_these_run_from_left_to_right(language: str) -> None:
    assert direction(language) == "ltr"


@pytest.mark.parametrize("nonsense", ['en" onload="x', "x" * 40, "../de", "<b>", "é"])
def test_what_is_no_language_is_no_tag(nonsense: str) -> None:
    assert language_tag(nonsense) == ""
    assert spoken(nonsense) == "en"


def test_the_nearest_language_is_spoken() -> None:
    assert spoken("de-AT") == "de"
    assert spoken("pt_BR") == "pt"
