"""Letters under the budget keep every word of each post; longer posts end at a block's end."""

import re
from html import escape

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from common.html.balance import balance
from common.html.clean import clean, plain
from common.text import words
from delivery.rendering.issue import render_issue
from delivery.rendering.posts import letter_html
from delivery.rendering.shortening import shorten
from tests.delivery.rendering.samples import entry, facts, html_of, one, text_of

BASE = "https://blog.example/1"
INLINE = words("a b em span code sup q small abbr mark")
BLOCKS = words(
    "p div ul ol li blockquote pre h2 h4 table tr td th dl dt dd figure figcaption details section center"
)
WORD = re.compile(r"w\d+e")
ANY_TAG = re.compile(r"<[^<>]*>")

text = st.sampled_from(["w ", "w", "w w. ", "Is w? ", "<br>", "<hr>", "&amp; w", "w &lt; w", "<!-- w -->"])
image = st.sampled_from(
    ['<img src="/a.jpg">', '<p><img src="/b.png"></p>', '<img src="/c.gif" alt="w" width="900">']
)
tree = st.recursive(
    text | image,
    lambda inside: st.builds(
        lambda name, parts, closed: f"<{name}>{''.join(parts)}" + (f"</{name}>" if closed else ""),
        st.sampled_from(sorted(BLOCKS | INLINE)),
        st.lists(inside, max_size=5),
        st.sampled_from([True, True, True, False]),
    ),
    max_leaves=25,
)


def told_apart(html: str) -> str:
    """Number each `w`, except in comments."""
    html, count = re.sub(r"<!--.*?-->", "", html), 0
    while re.search(r"\bw\b", html):
        html = re.sub(r"\bw\b", f"w{count}e", html, count=1)
        count += 1
    return html


def words_in(text: str) -> list[str]:
    return sorted(set(WORD.findall(text)))


@example('<p>w</p><p><img src="https://x.example/a.jpg"></p><p>w, which matters.</p>')
@example("<table><tr><td>w<td>w</table>")
@given(tree)
def test_a_letter_under_its_budget_holds_every_word_of_its_post(html: str) -> None:
    content = clean(told_apart(html), base=BASE)
    letter = render_issue(one(entry(content=content)))
    wanted = words_in(plain_of(content))
    assert words_in(plain_of(html_of(letter))) == wanted
    assert words_in(text_of(letter)) == wanted


@settings(max_examples=25)
@given(st.lists(tree, min_size=2, max_size=6))
def test_so_does_a_digest_whichever_post_is_the_longest(htmls: list[str]) -> None:
    contents = [
        clean(told_apart(html).replace("e", f"{number}e"), base=BASE) for number, html in enumerate(htmls)
    ]
    entries = [entry(number, content=content) for number, content in enumerate(contents, 1)]
    letter = render_issue(facts(*entries))
    wanted = words_in(plain_of("".join(contents)))
    assert words_in(plain_of(html_of(letter))) == wanted
    assert words_in(text_of(letter)) == wanted


def plain_of(html: str) -> str:
    """Return the visible words, including the alternative texts of pictures."""
    alts = " ".join(re.findall(r'alt="([^"]*)"', html))
    return " ".join(plain(piece) for piece in re.split(r"(?=<)", html)) + " " + alts


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(tree, min_size=1, max_size=8), st.integers(30, 2_000))
def test_what_is_cut_is_a_beginning_no_longer_than_its_share_and_closed(parts: list[str], size: int) -> None:
    whole = letter_html(entry(content=clean(told_apart("".join(parts * 4)), base=BASE)))
    cut = shorten(whole, size)
    assert len(cut) <= max(size, len("<p></p>") + 5 * size if cut.count("<") == 2 else size)
    assert balance(cut) == cut
    kept = WORD.findall(ANY_TAG.sub("", cut))
    assert kept == WORD.findall(ANY_TAG.sub("", whole))[: len(kept)]


@given(st.lists(st.integers(1, 20), min_size=2, max_size=60), st.integers(150, 3_000))
def test_what_is_over_its_budget_ends_at_a_blocks_end(lengths: list[int], size: int) -> None:
    """Where each block is shorter than two thirds of the share."""
    blocks = [f"<p>{' '.join(['rain'] * min(length, size // 12))}.</p>" for length in lengths]
    cut = shorten("".join(blocks), size)
    assert cut == "".join(blocks[: cut.count("<p>")])
    left = blocks[cut.count("<p>") :]
    assert not left or len(cut) + len(left[0]) > size


def test_a_block_longer_than_its_share_ends_after_a_sentence_and_says_that_more_follows() -> None:
    html = "<p>" + "It rains on the river. " * 40 + "</p>"
    assert shorten(html, 200).endswith("It rains on the river. …</p>")
    assert shorten("<p>" + "rain on the river " * 40 + "</p>", 200).endswith(" rain on…</p>")
    assert shorten("<p>" + "雨が川に降る。" * 100 + "</p>", 200).endswith("雨が川に降る。 …</p>")


def test_a_cut_never_ends_with_a_heading() -> None:
    html = "<p>" + "Rain. " * 30 + "</p><h2>The river</h2><p>" + "Water. " * 100 + "</p>"
    assert shorten(html, 230).endswith("Rain. </p>")


def test_no_entity_is_cut_in_two() -> None:
    for size in range(40, 60):
        assert "&am…" not in shorten("<p>" + "&amp;" * 100 + "</p>", size)


def test_a_post_that_fits_the_letter_is_not_cut_for_a_smaller_budget() -> None:
    content = "".join(f"<p>{escape('Rain & more. ' * 20)}</p>" for _ in range(230))
    assert 60_000 < len(content) < 90_000
    letter = render_issue(one(entry(content=content)))
    assert "Continue reading" not in html_of(letter)
    assert len(html_of(letter).encode()) < 102_000
