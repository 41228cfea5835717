"""Allowed and forbidden Markdown in a letter."""

import time

import pytest

from common.html.clean import html_of

BASE = "https://letters.example/"


def test_words_lists_tables_and_pictures() -> None:
    html = html_of(
        "# Hi\n\nA **word**, [a link](/about) and ~~a slip~~.\n\n- one\n- two\n\n"
        '| a | b |\n|---|---|\n| 1 | 2 |\n\n![A cat](/media/cat.png "Tom")',
        base=BASE,
    )
    assert "<h1>Hi</h1>" in html
    assert '<a href="https://letters.example/about"' in html
    assert "<s>a slip</s>" in html
    assert "<td>2</td>" in html
    assert '<img src="https://letters.example/media/cat.png" alt="A cat" title="Tom">' in html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "![x](data:text/html;base64,PHNjcmlwdD4=)",
        "<javascript:alert(1)>",
        '[x](https://a.example/"onclick="alert(1))',
    ],
)
def test_nothing_in_it_can_run(text: str) -> None:
    html = html_of(text, base=BASE)
    assert "<script" not in html
    assert "<img src=x" not in html
    for bad in ('href="javascript', 'src="data:', '" onclick'):
        assert bad not in html


@pytest.mark.slow
@pytest.mark.parametrize("evil", ["[", "> ", "*a_ ", "- ", "![](", "<", "a|"])
def test_no_text_takes_long(evil: str) -> None:
    begun = time.process_time()
    html_of((evil * 20_000)[:20_000], base=BASE)
    assert time.process_time() - begun < 2
