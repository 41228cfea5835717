"""Text common to all summaries of a feed is removed; the post's own words are kept whole."""

import grapheme
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feeds.parsing.entry import Entry
from feeds.rules.boilerplate import (
    OWN_TITLE,
    SHORTEST,
    Summary,
    boilerplate_of,
    summary_of,
    without_boilerplate,
)

TITLES = ("On honey", "Queens and drones", "A swarm in May", "What wax is", "Winter feed")
BODIES = ("Bees make it.", "One and many!", "They flew away.", "A kind of fat…", "Sugar helps?")
PIECES = st.sampled_from(
    [
        "a ",
        "b. ",
        "é",
        "e\u0301",
        "👩\u200d👩\u200d👧",
        "👍🏽",
        "🇫🇷",
        " ",
        "! ",
        "word ",
        "蜂。",
        "\u0301",
        "x" * 20,
        " said the bee of the house. ",
    ]
)
TEXTS = st.lists(PIECES, max_size=12).map("".join)
COMMON = st.lists(PIECES, max_size=6).map("".join)


def feed(*texts: str) -> list[Summary]:
    return [Summary(title, text) for title, text in zip(TITLES, texts, strict=False)]


def left(posts: list[Summary]) -> list[str]:
    common = boilerplate_of(posts)
    return [without_boilerplate(post, common) for post in posts]


def test_the_end_that_blogs_add_goes_though_each_names_its_title() -> None:
    posts = feed(
        *(
            f"{body} The post {title} appeared first on Bee Blog."
            for body, title in zip(BODIES, TITLES, strict=True)
        )
    )
    assert left(posts) == list(BODIES)


def test_a_beginning_goes() -> None:
    assert left(feed(*(f"Welcome to the Bee Show, the show on bees. {body}" for body in BODIES))) == [*BODIES]


def test_a_sentence_that_happens_to_begin_alike_stays_whole() -> None:
    posts = feed(*(f"Welcome to the Bee Show. Today we talk of {word}." for word in ("wax", "love", "art")))
    assert left(posts) == ["Today we talk of wax.", "Today we talk of love.", "Today we talk of art."]


def test_a_word_is_never_cut() -> None:
    posts = feed(*(f"News from the hive about the quee{end} of all" for end in ("n", "ns", "nless")))
    assert left(posts) == ["queen of all", "queens of all", "queenless of all"]


def test_four_of_five_are_enough_and_the_fifth_stays() -> None:
    texts = [f"{body} Read more about bees at our site." for body in BODIES[:4]]
    assert left(feed(*texts, "All of my own.")) == [*BODIES[:4], "All of my own."]


@pytest.mark.parametrize("count", [1, 2])
def test_of_one_or_two_posts_nobody_can_tell(count: int) -> None:
    texts = [f"{body} Read more about bees at our site." for body in BODIES[:count]]
    assert left(feed(*texts)) == texts


def test_three_of_five_are_not_enough() -> None:
    texts = [f"{body} Read more about bees at our site." for body in BODIES[:3]]
    texts += ["All of my own.", "And mine."]
    assert left(feed(*texts)) == texts


def test_what_is_short_stays() -> None:
    texts = [f"{body} Read on." for body in BODIES]
    assert left(feed(*texts)) == texts


def test_the_same_words_everywhere_stay() -> None:
    texts = ["A new picture is on our site."] * 4
    assert left(feed(*texts)) == texts


def test_a_text_that_was_cut_says_nothing_of_its_end() -> None:
    posts = feed(*(f"{body} Read more about bees at our site." for body in BODIES[:4]))
    cut = Summary("Long", "x" * 500, is_whole=False)
    assert boilerplate_of([*posts, cut, cut])[1].strip() == "Read more about bees at our site."


def test_a_script_without_spaces_is_cut_at_sentences() -> None:
    posts = feed(
        *(f"これは蜂についての毎日のお知らせです、ようこそ。{word}の話。" for word in ("蜜", "蝋", "花"))
    )
    assert left(posts) == ["蜜の話。", "蝋の話。", "花の話。"]


def test_nothing_is_taken_from_a_text_in_which_it_ends_within_a_word() -> None:
    common = ("Our daily news of bees and", "")
    assert without_boilerplate(Summary("", "Our daily news of bees andes."), common).startswith("Our")


@given(st.lists(TEXTS, max_size=22), COMMON, COMMON, st.lists(st.sampled_from(["", "Bees", "Title of one"])))
def test_whatever_the_texts_are(texts: list[str], start: str, end: str, titles: list[str]) -> None:
    """Part of each text remains, in place; no character is cut, and no post loses all its words."""
    titles += [""] * len(texts)
    posts = [
        Summary(title, f"{start}{text}{end.replace('word', title)}".strip())
        for title, text in zip(titles, texts, strict=False)
    ]
    common = boilerplate_of(posts)
    for part in common:
        assert not part or len(part) >= SHORTEST
    for post in posts:
        kept = without_boilerplate(post, common)
        assert kept in post.text
        assert any(map(str.isalnum, kept)) or kept == post.text
        assert OWN_TITLE not in kept
        if kept != post.text:
            # The remaining characters are among the original ones.
            before = list(grapheme.graphemes(post.text))
            after = list(grapheme.graphemes(kept))
            assert any(before[at : at + len(after)] == after for at in range(len(before)))


@given(st.lists(st.text("abc .", min_size=1, max_size=30), min_size=3, max_size=20), st.integers(0, 10**6))
def test_whoever_is_the_outlier(texts: list[str], seed: int) -> None:
    """The outlier is shortest, longest, or any of five: the text shared by the others is removed."""
    shared = " And that was the news of the bees."
    posts = [Summary("", f"t{number} {text}.{shared}") for number, text in enumerate(texts)]
    outlier = Summary("", "q" * (seed % 90 + 1))
    if len(posts) >= 4:
        posts.insert(seed % len(posts), outlier)
    common = boilerplate_of(posts)
    assert all(not without_boilerplate(post, common).endswith("news of the bees.") for post in posts)


@pytest.mark.parametrize(
    "link",
    [
        '<a href="https://x.example/bees">https://x.example/bees</a>',
        '<a href="https://x.example/bees"><span class="invisible">https://</span>'
        '<span class="ellipsis">x.example/b</span><span class="invisible">ees</span></a>',
        '<a href="https://x.example/bees"> <b>www.x.example</b>/bees </a>',
    ],
)
def test_a_link_that_shows_its_address_is_no_part_of_the_summary_however_it_is_parted(link: str) -> None:
    entry = Entry(guid="1", title="Bees", summary=f"<p>They dance. {link} Look.</p>")
    assert summary_of(entry).text == "They dance. Look."


def test_a_link_in_words_stays() -> None:
    entry = Entry(guid="1", summary='<p>See <a href="https://x.example/"><b>the hive</b></a>.</p>')
    assert summary_of(entry).text == "See the hive."
