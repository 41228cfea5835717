"""The text part of a letter has every visible word of a post, and no hidden one."""

import re
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.html.clean import clean
from common.html.plain_text import to_text
from delivery.rendering.posts import for_letter
from tests.examples import examples

PAGE = "https://blog.example/posts/one"
# Placeholders that are replaced by unique words.
SEEN, HIDDEN = "\ue000", "\ue001"
_INLINE = (
    "a",
    "abbr",
    "b",
    "cite",
    "code",
    "del",
    "em",
    "font",
    "ins",
    "kbd",
    "mark",
    "q",
    "s",
    "small",
    "span",
    "sub",
    "sup",
    "u",
)
_BLOCKS = (
    "article",
    "aside",
    "blockquote",
    "center",
    "div",
    "figure",
    "footer",
    "header",
    "main",
    "nav",
    "p",
    "section",
)
_HIDING = (
    "<span hidden>{}</span>",
    '<span style="display:none">{}</span>',
    "<b style='color:red; display : none'>{}</b>",
    '<i class="x sr-only">{}</i>',
    "<em class='screen-reader-text'>{}</em>",
    "<script>{}</script>",
    "<style>{}</style>",
    "<!-- {} -->",
)
_text = st.sampled_from((f" {SEEN} ", f"{SEEN}, ", f" {SEEN}. ", f" ({SEEN}) ", " ", "\n"))
_hidden = st.sampled_from(_HIDING).map(lambda html: f" {html.format(HIDDEN)} ")
_spans = st.sampled_from(
    ("", ' colspan="2"', ' rowspan="2"', ' rowspan="0"', ' colspan="3" rowspan="2"', " colspan=x")
)


def _wrapped(names: tuple[str, ...], inside: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(lambda name, html: f"<{name}>{html}</{name}>", st.sampled_from(names), inside)


def _joined(parts: st.SearchStrategy[str], *, most: int = 4) -> st.SearchStrategy[str]:
    return st.lists(parts, min_size=1, max_size=most).map("".join)


def _math(inside: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    leaf = st.sampled_from((f"<mi>{SEEN}</mi>", f"<mn>{SEEN}</mn>", f"<mtext>{SEEN}</mtext>", "<mo>=</mo>"))
    two = st.sampled_from(("mfrac", "msup", "msub", "mroot", "mover", "munder"))
    any_number = st.sampled_from(("mrow", "msqrt", "mfenced", "mstyle", "mtd", "menclose"))
    formula = st.recursive(
        leaf,
        lambda each: st.one_of(
            st.builds(lambda name, one, other: f"<{name}>{one}{other}</{name}>", two, each, each),
            st.builds(lambda name, parts: f"<{name}>{parts}</{name}>", any_number, _joined(each, most=3)),
        ),
        max_leaves=6,
    )
    return formula.map(lambda html: f"<math>{html}</math>")


_small = st.one_of(
    _text,
    _hidden,
    st.sampled_from(("<br>", "<wbr>", f'<img src="https://i.example/a.png" alt="{SEEN}">')),
    st.sampled_from(
        (
            f'<svg aria-label="{SEEN}"></svg>',
            # The title of a small one, such as an icon in a link, is left out beside words.
            f"<svg width='100' height='100'><title>{SEEN}</title><path d=''/></svg>",
        )
    ),
    st.sampled_from(
        (
            f"<select><option>{SEEN}</option></select>",
            f"<canvas>{SEEN}</canvas>",
            f"<textarea>{SEEN}</textarea>",
        )
    ),
    _math(_text),
)
_phrase = st.recursive(
    _small,
    lambda inside: st.one_of(
        _wrapped(_INLINE, _joined(inside)),
        _joined(inside).map(lambda html: f'<a href="https://x.example/">{html}</a>'),
        _joined(inside).map(lambda html: f'<a href="#there">{html}</a>'),
        _joined(inside).map(lambda html: f"<ruby>{html}<rt>{SEEN}</rt></ruby>"),
    ),
    max_leaves=8,
)


def _tables(inside: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    cell = st.builds(
        lambda name, span, html: f"<{name}{span}>{html}</{name}>",
        st.sampled_from(("td", "th")),
        _spans,
        inside,
    )
    row = _joined(cell).map(lambda html: f"<tr>{html}</tr>")
    return st.builds(
        lambda head, rows: f"<table>{head}{rows}</table>",
        st.sampled_from(("", f"<caption>{SEEN}</caption>")),
        _joined(row),
    )


def _lists(inside: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    item = st.builds(
        lambda value, html: f"<li{value}>{html}</li>", st.sampled_from(("", " value=7", " value=-3")), inside
    )
    start = st.sampled_from(("<ul>", "<ol>", "<ol reversed>", "<ol type=a start=30>", "<ol start=-2 type=I>"))
    return st.builds(lambda tag, items: f"{tag}{items}</{tag[1:3]}>", start, _joined(item))


_block = st.recursive(
    _joined(_phrase),
    lambda inside: st.one_of(
        _wrapped(_BLOCKS, _joined(inside)),
        _wrapped(("h1", "h2", "h3", "h4", "h5", "h6"), _phrase),
        _wrapped(("pre", "del"), _joined(_phrase)),
        _joined(inside).map(lambda html: f"<details><summary>{SEEN}</summary>{html}</details>"),
        _joined(inside).map(lambda html: f"<dl><dt>{SEEN}</dt><dd>{html}</dd></dl>"),
        _tables(_joined(inside, most=2)),
        _lists(_joined(inside, most=2)),
    ),
    max_leaves=10,
)


def _numbered(html: str, sign: str, letter: str) -> tuple[str, set[str]]:
    numbers = count(1)
    html = re.sub(sign, lambda _: f"{letter}{next(numbers)}{letter}", html)
    return html, set(re.findall(rf"{letter}\d+{letter}", html))


@pytest.mark.slow
@given(_joined(_block))
@settings(max_examples=examples(150))
def test_the_text_part_has_every_visible_word_and_no_hidden_one(html: str) -> None:
    # The same picture twice in a row is shown once.
    pictures = count(1)
    html = re.sub(r"a\.png", lambda _: f"{next(pictures)}.png", html)
    html, seen = _numbered(html, SEEN, "v")
    html, hidden = _numbered(html, HIDDEN, "h")
    text = to_text(for_letter(clean(html, base=PAGE), page=PAGE))
    words = set(re.findall(r"v\d+v|h\d+h", text))
    # Words beside nothing visible may be the only content, or the name of a link.
    assert seen - words == set()
    assert not seen or "<a" in html or hidden & words == set()
