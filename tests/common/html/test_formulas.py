"""MathML as one line of text."""

import pytest

from common.html.clean import clean


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<mfrac><mn>1</mn><mn>2</mn></mfrac>", "1/2"),
        ("<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac>", "(a + b)/2"),
        ("<msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><msub><mi>a</mi><mn>10</mn></msub>", "x^2 + a_10"),
        ("<msup><mi>e</mi><mrow><mo>-</mo><mi>x</mi></mrow></msup>", "e^(-x)"),
        ("<msubsup><mo>∫</mo><mn>0</mn><mn>1</mn></msubsup><mi>x</mi>", "∫_0^1 x"),
        ("<msqrt><mn>2</mn></msqrt>", "√2"),
        ("<msqrt><mi>a</mi><mo>+</mo><mn>1</mn></msqrt>", "√(a + 1)"),
        ("<mroot><mi>x</mi><mn>3</mn></mroot><mo>,</mo><mroot><mi>x</mi><mn>5</mn></mroot>", "∛x, x^(1/5)"),
        ("<mover><mi>x</mi><mo>¯</mo></mover>", "x̄"),
        ("<munder><mi>lim</mi><mrow><mi>n</mi><mo>→</mo><mi>∞</mi></mrow></munder>", "lim_(n → ∞)"),
        (
            "<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr><mtr><mtd><mn>3</mn>"
            "</mtd><mtd><mn>4</mn></mtd></mtr></mtable>",
            "[1, 2; 3, 4]",
        ),
        ("<mfenced open='[' close=']' separators=';'><mi>a</mi><mi>b</mi></mfenced>", "[a; b]"),
        ("<mi>sin</mi><mo>&ApplyFunction;</mo><mi>x</mi>", "sin x"),
        ("<mn>2</mn><mo>&InvisibleTimes;</mo><mi>x</mi>", "2x"),
        ("<mi>x</mi><mo>&lt;</mo><mn>3</mn>", "x &lt; 3"),
        ("<mo>-</mo><mi>x</mi><mo>=</mo><mo>-</mo><mn>1</mn>", "-x = -1"),
        ("<mi>f</mi><mo>(</mo><mi>x</mi><mo>)</mo><mtext> if </mtext><mi>x</mi>", "f(x) if x"),
        ("<msup><mi>f</mi><mo>′</mo></msup>", "f′"),
        (
            "<mmultiscripts><mi>U</mi><none/><none/><mprescripts/><mn>92</mn><mn>238</mn></mmultiscripts>",
            "_92^238U",
        ),
        ("<mphantom><mi>x</mi></mphantom><mi>y</mi>", "y"),
    ],
)
def test_it_reads_as_one_would_type_it(html: str, text: str) -> None:
    assert clean(f"<math>{html}</math>", base="") == text


def test_what_is_no_mathml_keeps_its_words() -> None:
    assert clean("<p><math>a <mtext>or <b>so</b></mtext></math></p>", base="") == "<p>a or so</p>"
    assert clean("<math><mfrac><mn>1</mn></mfrac></math>", base="") == "1"
