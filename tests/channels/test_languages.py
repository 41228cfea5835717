import pytest

from channels.languages import spoken
from common.directions import language_tag


@pytest.mark.parametrize("nonsense", ['en" onload="x', "x" * 40, "../de", "<b>", "é"])
def test_what_is_no_language_is_no_tag(nonsense: str) -> None:
    assert language_tag(nonsense) == ""
    assert spoken(nonsense) == "en"


def test_the_nearest_language_is_spoken() -> None:
    assert spoken("de-AT") == "de"
    assert spoken("pt_BR") == "pt-br"
