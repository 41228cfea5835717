"""An admin's words above and below the posts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.rendering.branding import as_html, as_text


@pytest.mark.parametrize(
    ("said", "html", "text"),
    [
        ("Hello", '<p dir="auto">Hello</p>', "Hello"),
        ("a\r\nb\n\nc", '<p dir="auto">a<br>b</p><p dir="auto">c</p>', "a\nb\n\nc"),
        (
            "See https://e.org/a_(b)?x=1&y=2.",
            '<p dir="auto">See <a href="https://e.org/a_(b)?x=1&amp;y=2">https://e.org/a_(b)?x=1&amp;y=2</a>.</p>',
            "See https://e.org/a_(b)?x=1&y=2.",
        ),
        (
            "[Us](https://e.org/)!",
            '<p dir="auto"><a href="https://e.org/">Us</a>!</p>',
            "Us (https://e.org/)!",
        ),
        ("ed@e.org", '<p dir="auto"><a href="mailto:ed@e.org">ed@e.org</a></p>', "ed@e.org"),
        ("[Ed](mailto:ed@e.org)", '<p dir="auto"><a href="mailto:ed@e.org">Ed</a></p>', "Ed (ed@e.org)"),
        (
            "[x](javascript:alert(1))",
            '<p dir="auto">[x](javascript:alert(1))</p>',
            "[x](javascript:alert(1))",
        ),
        ("<b>&", '<p dir="auto">&lt;b&gt;&amp;</p>', "<b>&"),
        (" \n ", "", ""),
    ],
)
def test_text_becomes_paragraphs_and_addresses_links(said: str, html: str, text: str) -> None:
    assert as_html(said) == html
    assert as_text(said) == text


@given(st.text(alphabet="<>\"'&[]()hts:/e.org@ \n", max_size=60))
def test_nothing_in_it_is_ever_markup(said: str) -> None:
    html = str(as_html(said))
    for allowed in ('<p dir="auto">', "</p>", "<br>", "</a>"):
        html = html.replace(allowed, "")
    while '<a href="' in html:
        before, _, rest = html.partition('<a href="')
        address, _, after = rest.partition('">')
        assert not set(address) & set("<>\"'")
        assert address.startswith(("https://", "http://", "mailto:"))
        html = before + after
    assert "<" not in html
