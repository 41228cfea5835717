"""The choice of a feed's icon among a page's icons."""

from hypothesis import given
from hypothesis import strategies as st

from reader.rules.icons import icons_of

PAGE = "https://tide.example/blog/"
USUAL = "https://tide.example/favicon.ico"


def test_the_smallest_icon_that_is_large_enough_comes_first() -> None:
    html = """<head><link rel="icon" href="/16.png" sizes="16x16">
    <link rel="icon" href="/32.png" sizes="32x32"><link rel="apple-touch-icon" href="apple.png">
    <LINK REL="shortcut icon" HREF="//cdn.example/96.png" SIZES="96X96">
    <link rel="icon" sizes="192x192" href="/192.png"></head>"""
    assert icons_of(html, PAGE) == [
        "https://cdn.example/96.png",
        "https://tide.example/blog/apple.png",
        "https://tide.example/192.png",
        "https://tide.example/32.png",
        USUAL,
    ]


def test_drawings_other_links_and_texts_are_left_out() -> None:
    html = """<link rel="icon" type="image/svg+xml" href="/a"><link rel="icon" href="/b.svg?c">
    <link rel="mask-icon" href="/mask.png"><link rel="stylesheet" href="/icon"><link rel="icon">
    <link rel="icon" href="data:image/png;base64,AAAA"><script>"<link rel=icon href=/s.png>"</script>"""
    assert icons_of(html, PAGE) == [USUAL]


def test_addresses_are_relative_to_the_base_of_the_page() -> None:
    html = '<base href="https://static.example/x/"><link rel="icon" href="i.png" sizes="any">'
    assert icons_of(html, PAGE) == ["https://static.example/x/i.png", USUAL]


@given(st.text())
def test_no_page_breaks_it(html: str) -> None:
    assert icons_of(html, PAGE)[-1] == USUAL
