"""The text part of a letter.

The text part of a letter has every visible word of a post, and no hidden one.
"""

import re
from datetime import UTC, datetime
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.html.clean import clean
from common.html.plain_text import to_text
from common.text import text_width
from delivery.rendering.facts import ThemeFacts
from delivery.rendering.issue import render_issue
from delivery.rendering.posts import for_letter
from feeds.parsing.entry import Media
from tests.delivery.rendering.samples import entry, facts, one, text_of
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
JAPANESE = "雨が川の上に降っています。船は港で待っています。「明日は晴れるでしょう」と船長は言いました。"


def test_a_post_reads_like_a_letter() -> None:
    post = entry(
        title="Rain & other weather",
        content='<p>It <em>rains</em>, <a href="https://x.example/">they say</a>.</p><ul><li>One</li></ul>',
        published=datetime(2026, 3, 7, 9, tzinfo=UTC),
    )
    assert text_of(render_issue(one(post))) == (
        "The Valley Weekly\n"
        "Read online: https://letters.example/s/valley/archive/\n"
        "\n"
        "Rain & other weather\n"
        "====================\n"
        "by Ada Lovelace, March\xa07,\xa02026\n"
        "https://blog.example/1\n"
        "\n"
        "It rains, they say [1].\n"
        "\n"
        "* One\n"
        "\n"
        "[1] https://x.example/\n"
        "\n"
        "----\n"
        "You get this email because ada@example.net is subscribed to\n"
        "The Valley Weekly.\n"
        "\n"
        "Unsubscribe: https://letters.example/unsubscribe/abc/\n"
        "Manage your subscription: https://letters.example/manage/abc/\n"
        "Past issues: https://letters.example/s/valley/archive/\n"
    )


def test_a_digest_lists_its_posts_first() -> None:
    text = text_of(render_issue(facts()))
    assert "In this issue:\n\n1. Post 1\n2. Post 2\n3. Post 3\n\n* * *\n\nPost 1\n======\n" in text
    assert text.count("* * *") == 3


def test_an_announcement_is_a_few_lines() -> None:
    text = text_of(render_issue(one(entry(title="Rain", content=""))))
    assert (
        "\nRain\nby Ada Lovelace, March\xa07,\xa02026\n\nRead it on the web: https://blog.example/1\n" in text
    )


def test_there_is_no_markup_no_double_gap_and_no_blank_at_a_line_end() -> None:
    pictures = tuple(
        Media(f"https://i.example/{number}.png", "image/png", alt="A bucket") for number in (1, 2)
    )
    sound = Media("https://i.example/rain%20song.mp3", "audio/mpeg", 2048)
    text = text_of(render_issue(facts(entry(1, media=(*pictures, sound)), entry(2, title="", authors=()))))
    assert "A bucket: https://i.example/2.png" in text
    assert "rain song.mp3 (audio/mpeg, 2.0\xa0KB): https://i.example/rain%20song.mp3" in text
    assert "\n\n\n" not in text
    assert not any(line != line.rstrip() for line in text.split("\n"))
    assert "<" not in text
    assert "&" not in text


@pytest.mark.parametrize("content", ["full", "excerpt"])
@pytest.mark.parametrize(
    "words",
    ["It rains on the harbour again today. ", JAPANESE, "ฝนตกที่แม่น้ำวันนี้และพรุ่งนี้"],
    ids=["en", "ja", "th"],
)
def test_no_line_is_longer_than_those_of_posts(words: str, content: str) -> None:
    theme = ThemeFacts(header="A word of ours. " * 10, footer="Another one. " * 10)
    post = entry(title="Rain and " * 20, content=f"<p>{words * 6}</p>")
    letter = render_issue(facts(post, entry(2), theme=theme, newsletter="A long name of a newsletter " * 3))
    lines = text_of(letter, toemail="ada@example.net").split("\n")
    assert [line for line in lines if text_width(line) > 72] == []
    # Closing marks and vowels after their consonant begin no line.
    assert not [line for line in lines if line.startswith(("。", "」", "ี", "ำ", "้"))]


def test_a_table_that_is_too_wide_says_its_headings_in_each_line() -> None:
    heads = "<tr><th>Day<th rowspan=1>Wind:<th colspan=2>Remarks"
    row = f"<tr><td rowspan=2>Mon<td>NW<td>{'rain ' * 8}<td>{'fog ' * 8}<tr><td>N<td><td>sun"
    text = text_of(render_issue(one(entry(content=clean(f"<table>{heads}{row}</table>", base="")))))
    assert (
        f"\n\nDay: Mon\nWind: NW\nRemarks: {('rain ' * 8).strip()}\nRemarks: {('fog ' * 8).strip()}\n"
        "\nDay: Mon\nWind: N\nRemarks: sun\n"
    ) in text


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
