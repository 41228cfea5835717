"""Numbers of list items as browsers show them."""

import pytest

from common.html.clean import clean
from common.html.numbering import ordinal
from common.html.plain_text import to_text


@pytest.mark.parametrize(
    ("html", "lines"),
    [
        ("<ol reversed><li>c<li>b<li>a</ol>", "3. c\n2. b\n1. a"),
        ("<ol reversed><li>b<ol><li>x<li>y</ol><li>a</ol>", "2. b\n   1. x\n   2. y\n1. a"),
        ("<ol reversed start=10><li>b<li>a</ol>", "10. b\n9. a"),
        ("<ol><li value=3>c<li>d<li value=-1>e</ol>", "3. c\n4. d\n-1. e"),
        ("<ol type=a start=26><li>z<li>aa</ol>", "z. z\naa. aa"),
        ("<ol type=I start=4><li>four<li type=1>five</ol>", "IV. four\n5. five"),
        ("<ol start=-1><li>a<li>b</ol>", "-1. a\n0. b"),
        ("<ol start=x><li>a</ol>", "1. a"),
        (f"<ol start={'9' * 50}><li>a</ol>", "999999999. a"),
    ],
)
def test_items_have_the_numbers_that_a_browser_shows(html: str, lines: str) -> None:
    assert to_text(html) == lines
    assert to_text(clean(html, base="")) == lines


def test_a_reversed_list_that_is_cut_off_keeps_its_numbers() -> None:
    assert clean("<ol reversed><li>b</li><li>a</li></ol>", base="").startswith('<ol start="2" reversed="">')


@pytest.mark.parametrize(
    ("number", "kind", "text"),
    [
        (1994, "i", "mcmxciv"),
        (4000, "I", "4000"),
        (0, "a", "0"),
        (-2, "i", "-2"),
        (702, "A", "ZZ"),
        (7, "x", "7"),
    ],
)
def test_letters_and_roman_numbers_have_their_limits(number: int, kind: str, text: str) -> None:
    assert ordinal(number, kind) == text
