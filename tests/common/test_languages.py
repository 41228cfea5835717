import pytest
from django.test import RequestFactory

from common.languages import asked_for, spoken_variety


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
