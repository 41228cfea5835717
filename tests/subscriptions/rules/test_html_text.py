"""The text between the tags, and only that."""

from html import unescape
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from common.html.clean import clean
from subscriptions.rules.post_rules import changed, visible

BASE = "https://blog.example/"
TEXTS = st.text(alphabet=st.sampled_from("ab <>&\"'=é\n"), max_size=12)
TAGS = st.sampled_from(["p", "b", "blockquote", "a", "td"])


@st.composite
def pages(draw: st.DrawFn) -> str:
    """Draw clean HTML with hostile texts inside tags, in values, and between tags."""
    pieces = []
    for _ in range(draw(st.integers(0, 6))):
        tag, value, text = draw(TAGS), draw(TEXTS), draw(TEXTS)
        quoted = value.replace("&", "&amp;").replace('"', "&quot;")
        pieces.append(f'{draw(TEXTS)}<{tag} title="{quoted}" href="https://x.example/a">{text}</{tag}>')
    return clean("".join(pieces), base=BASE)


class Structure(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[object] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, attrs))

    def handle_endtag(self, tag: str) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@given(pages())
def test_tags_and_their_values_stay_whatever_is_done_to_the_text(html: str) -> None:
    before, after = Structure(html), Structure(changed(html, lambda text: text.replace("a", "<i>z</i>")))
    assert after.tags == before.tags
    assert "".join(after.texts) == "".join(before.texts).replace("a", "<i>z</i>")


@given(pages())
def test_nothing_done_is_nothing_changed(html: str) -> None:
    assert changed(html, lambda text: text) == html


@given(pages())
def test_what_is_visible_is_all_text_and_no_tag(html: str) -> None:
    assert "".join(visible(html).split()) == "".join("".join(Structure(html).texts).split())


def test_a_word_is_whole_across_marks_and_blocks_stand_apart() -> None:
    assert visible("<p>spon<b>sored</b></p><p>next &amp; last</p>").split() == [
        "sponsored",
        "next",
        "&",
        "last",
    ]


def test_values_that_look_like_tags_stay() -> None:
    html = clean('<a href="https://x.example/?a>b" title="x > y <b>y</b>">y</a>', base=BASE)
    assert unescape(changed(html, str.upper)).endswith(">Y</a>")
    assert 'title="x' in changed(html, str.upper)
