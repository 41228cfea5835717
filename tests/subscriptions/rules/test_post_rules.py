"""The posts that a newsletter accepts, the changes in them, and their order.

Words of a filter: input, display, and matches.
Tags: their names, the cells of lists, and segments.
The text between the tags, and only that.
"""

import re
import time
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.html.clean import clean
from feeds.parsing.entry import Entry
from subscriptions.rules.post_rules import (
    TOO_SLOW,
    InvalidRule,
    InvalidWords,
    Rule,
    changed,
    check_on,
    check_rule,
    in_order,
    judge,
    read_words,
    rewrite,
    sentence,
    typed_words,
    visible,
    word_of,
    word_pattern,
)
from subscriptions.rules.tags import BadTag, check_segment, tags_of_cell, tidy_tags
from tests.factories import an_entry

BASE = "https://blog.example/"
TEXTS = st.text(alphabet=st.sampled_from("ab <>&\"'=é\n"), max_size=12)
TAGS = st.sampled_from(["p", "b", "blockquote", "a", "td"])
FILTER_WORDS = st.text(
    st.characters(codec="utf-8", exclude_characters='*"“”„«»,;\\\0'), min_size=1, max_size=20
)
SLOW = "(a+)+$"
ENTRY = an_entry(
    title="A sponsored post",
    authors=("Ada", "Grace"),
    categories=("Ads", "Bees"),
    link="https://blog.example/ads/1",
    content='<p title="sponsored">Buy <b>hon</b>ey &amp; wax.</p>',
)
FIELDS = st.sampled_from(["any", "title", "author", "category", "content", "link"])
TESTS = st.sampled_from(["contains", "equals"])
WORDS = st.sampled_from(["ada", "bees", "sponsored", "honey & wax", "ads", "none of it", "A sponsored post"])
RULES = st.builds(Rule, st.sampled_from(["keep", "drop"]), FIELDS, TESTS, WORDS)


def drop(pattern: str, field: str = "any", test: str = "contains") -> Rule:
    return Rule("drop", field, test, pattern)


def keep(pattern: str, field: str = "any", test: str = "contains") -> Rule:
    return Rule("keep", field, test, pattern)


def put(pattern: str, replacement: str, field: str = "any", test: str = "contains") -> Rule:
    return Rule("replace", field, test, pattern, replacement)


def kept(*rules: Rule) -> bool:
    return judge(ENTRY, rules).is_kept


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (drop("sponsored"), "its title contains “sponsored”"),
        (drop("grace", "author", "equals"), "its author is “grace”"),
        (drop("ads", "category"), "its category contains “ads”"),
        (drop("honey & wax", "content"), "its text contains “honey & wax”"),
        (drop(r"/ads/\d", "link", "matches"), r"its link matches “/ads/\d”"),
        (keep("wasps", "title"), "no title of it contains “wasps”"),
        (keep("wasps"), "nothing in it contains “wasps”"),
    ],
)
def test_a_post_is_left_out_with_the_reason(rule: Rule, reason: str) -> None:
    verdict = judge(ENTRY, [rule])
    assert (verdict.is_kept, verdict.reason) == (False, reason)


def test_without_rules_every_post_is_taken() -> None:
    assert kept()
    assert kept(put("sponsored", "paid"))


def test_what_stands_in_a_tag_is_no_text() -> None:
    assert kept(drop("sponsored", "content"))


def test_of_the_rules_that_keep_one_is_enough_and_none_is_too_few() -> None:
    assert kept(keep("wasps"), keep("bees"))
    assert not kept(keep("wasps"), keep("ants"))
    assert (
        judge(ENTRY, [keep("wasps"), keep("ants")]).reason == "it fits none of the 2 rules for what to keep"
    )


def test_what_is_dropped_goes_even_if_it_is_kept() -> None:
    assert not kept(keep("bees"), drop("ads"))


@given(st.lists(RULES, max_size=6))
def test_rules_are_read_as_they_are_written(rules: list[Rule]) -> None:
    def fits(rule: Rule) -> bool:
        texts = {
            "title": [ENTRY.title],
            "author": list(ENTRY.authors),
            "category": list(ENTRY.categories),
            "link": [ENTRY.link],
            "content": ["buy honey & wax."],
        }
        values = [v for each in texts.values() for v in each] if rule.field == "any" else texts[rule.field]
        wanted = rule.pattern.lower()
        return any(wanted == v.lower() if rule.test == "equals" else wanted in v.lower() for v in values)

    keeping = [rule for rule in rules if rule.action == "keep"]
    dropping = [rule for rule in rules if rule.action == "drop"]
    expected = not any(map(fits, dropping)) and (not keeping or any(map(fits, keeping)))
    assert kept(*rules) is expected


@given(st.lists(RULES, max_size=6), st.randoms())
def test_the_order_of_rules_that_keep_and_drop_does_not_matter(rules: list[Rule], random: object) -> None:
    shuffled = list(rules)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert kept(*rules) is kept(*shuffled)


@pytest.mark.parametrize("action", ["keep", "drop"])
def test_a_rule_that_runs_out_of_time_keeps_the_post_and_says_so(action: str) -> None:
    rule = Rule(action, "any", "matches", SLOW)
    begun = time.monotonic()
    verdict = judge(replace(ENTRY, title="a" * 5000 + "!"), [rule])
    assert time.monotonic() - begun < 2
    assert verdict.is_kept
    assert [(trouble.rule, trouble.why) for trouble in verdict.troubles] == [(rule, TOO_SLOW)]


@pytest.mark.parametrize("action", ["keep", "drop", "replace"])
def test_a_rule_that_does_not_compile_any_more_changes_nothing_and_says_so(action: str) -> None:
    rule = Rule(action, "any", "matches", "(a")
    assert judge(ENTRY, [rule]).is_kept
    assert rewrite(ENTRY, [rule]).entry is ENTRY
    assert judge(ENTRY, [rule]).troubles or rewrite(ENTRY, [rule]).troubles


def test_title_and_text_are_replaced_and_no_tag_is_touched() -> None:
    done = rewrite(ENTRY, [put("sponsored", "paid"), put("buy", "<script>x</script>Sell")])
    assert done.entry.title == "A paid post"
    assert done.entry.content == (
        '<p title="sponsored">&lt;script&gt;x&lt;/script&gt;Sell <b>hon</b>ey &amp; wax.</p>'
    )
    assert len(done.changed_by) == 2
    assert replace(done.entry, title=ENTRY.title, content=ENTRY.content) == ENTRY


def test_rules_replace_one_after_the_other() -> None:
    done = rewrite(ENTRY, [put("post", "letter", "title"), put("letter", "note", "title")])
    assert done.entry.title == "A sponsored note"


def test_a_rule_that_finds_nothing_has_changed_nothing() -> None:
    done = rewrite(ENTRY, [put("wasps", "bees")])
    assert (done.entry, done.changed_by) == (ENTRY, ())


def test_a_title_stays_one_line() -> None:
    assert rewrite(ENTRY, [put("sponsored", "x\n\x00y", "title")]).entry.title == "A x y post"


def test_a_post_that_would_grow_too_long_stays_as_it_is() -> None:
    rule = put("o", "o" * 500, "title")
    done = rewrite(replace(ENTRY, title="o" * 50), [rule])
    assert done.entry.title == "o" * 50
    assert done.troubles[0].rule == rule


@pytest.mark.parametrize(
    ("rule", "field"),
    [
        (drop("  "), "pattern"),
        (drop("(a", test="matches"), "pattern"),
        (drop(SLOW, test="matches"), "pattern"),
        (put("a", "b", "link"), "field"),
        (put("(a)", r"\2", test="matches"), "pattern"),
        (replace(drop("a"), replacement="b"), "replacement"),
    ],
)
def test_a_rule_that_could_not_work_is_refused_at_its_field(rule: Rule, field: str) -> None:
    with pytest.raises(InvalidRule) as refused:
        check_rule(rule)
    assert refused.value.field == field


def test_an_expression_is_tried_on_the_posts_there_are() -> None:
    rule = drop(r"(?:\p{Greek}+)+$", "title", "matches")
    check_on(rule, [ENTRY])
    with pytest.raises(InvalidRule, match="Tried on “ββ"):
        check_on(rule, [ENTRY, Entry(guid="1", title="β" * 3000 + "!")])


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("newest", ["Zebra", "“apple”", "", "Éclair", "banana"]),
        ("oldest", ["banana", "Éclair", "", "“apple”", "Zebra"]),
        ("title", ["“apple”", "banana", "Éclair", "Zebra", ""]),
    ],
)
def test_posts_come_in_the_order_wanted(order: str, expected: list[str]) -> None:
    assert in_order(["Zebra", "“apple”", "", "Éclair", "banana"], order, str) == expected


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (drop("sponsored", "title"), "Leave out posts whose title contains “sponsored”."),
        (keep("bees"), "Keep only posts in which anything contains “bees”."),
        (keep("x", "content", "equals"), "Keep only posts whose text is “x”."),
        (put("a", "b", "title"), "In the title, for “a” put “b”."),
        (put("a+", "", test="matches"), "In the title and the text, for what matches “a+” put nothing."),
    ],
)
def test_a_rule_reads_as_a_sentence(rule: Rule, words: str) -> None:
    assert sentence(rule) == words


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("", []),
        ("honey bee", ["honey", "bee"]),
        ('honey "queen bee"', ["honey", "queen bee"]),
        ("honey, bee;\nwax honey", ["honey", "bee", "wax"]),
        ("„queen bee“ «the hive»", ["queen bee", "the hive"]),
        ("it's C++ #tag", ["it's", "C++", "#tag"]),
    ],
)
def test_words_are_read_as_they_are_typed(typed: str, words: list[str]) -> None:
    assert read_words(typed) == words


@pytest.mark.parametrize(("typed", "reason"), [('"open', "quote"), ("*", "star"), ("x" * 61, "long")])
def test_what_is_no_word_is_refused(typed: str, reason: str) -> None:
    with pytest.raises(InvalidWords) as refused:
        read_words(typed)
    assert refused.value.reason == reason


@pytest.mark.parametrize(
    ("word", "text", "is_found"),
    [
        ("art", "A party", False),
        ("art", "The Art of bees", True),
        ("art*", "An artist", True),
        ("*art", "smart", True),
        ("C++", "C++ for bees", True),
        ("C++", "C", False),
        ("queen bee", "The Queen Bee", True),
        ("**bees**", "**bees**", True),
        ("a.c", "abc", False),
        ("Žluť", "žluť", True),
    ],
)
def test_whole_words_are_found_in_any_case(word: str, text: str, is_found: bool) -> None:
    assert bool(re.search(word_pattern(word), text)) is is_found


@given(st.lists(FILTER_WORDS, max_size=5))
def test_what_is_shown_reads_as_the_same_words(words: list[str]) -> None:
    read = read_words(" ".join(f'"{word}"' for word in words))
    assert read_words(typed_words(read)) == read
    for word in read:
        assert word_of(word_pattern(word)) == word


@given(FILTER_WORDS)
def test_a_word_finds_itself(word: str) -> None:
    for read in read_words(f'"{word}"'):
        assert re.search(word_pattern(read), read)


@pytest.mark.parametrize(
    ("cell", "tags"),
    [
        ("", ()),
        ("press", ("press",)),
        ("press, Friends of the harbour", ("press", "Friends of the harbour")),
        ("press;board", ("press", "board")),
        ('"VIP","Old customer"', ("VIP", "Old customer")),  # Mailchimp
        ('["a", "b"]', ("a", "b")),
        ("[a, b]", ("a", "b")),
        ("News, news,NEWS", ("News",)),
        (" , ,", ()),
        ("first\tsecond", ("first second",)),
    ],
)
def test_a_cell_names_its_tags_however_programs_separate_them(cell: str, tags: tuple[str, ...]) -> None:
    assert tags_of_cell(cell) == tags


@pytest.mark.parametrize("cell", ["x" * 101, ",".join(map(str, range(51))), '["a,b"]'])
def test_a_cell_that_cannot_be_tags_is_refused(cell: str) -> None:
    with pytest.raises(BadTag):
        tags_of_cell(cell)


def test_tags_are_the_same_whatever_their_capitals() -> None:
    assert tidy_tags(["Straße", "STRASSE", " news "]) == ("Straße", "news")


def test_a_segment_that_nobody_can_be_in_is_refused() -> None:
    check_segment(any_of=["a", "b"], none_of=["A"])
    with pytest.raises(BadTag):
        check_segment(any_of=["a"], none_of=["A"])
    with pytest.raises(BadTag):
        check_segment(any_of=map(str, range(21)))


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
