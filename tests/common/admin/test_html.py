"""Parts as HTML.

Moments as people say them.
Charts of bars, of gains and losses, and of a curve.
"""

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.admin.chart import BELOW_BAD, FEWEST, HIGH, LOWEST, MOST, Plot, bars, flows, plot_of, scale_of
from common.admin.html import block, inline, short_when
from common.parts import Bar, Button, Chart, Code, Facts, Flow, Link, Table, Text, listed

COUNTS = st.integers(0, 10) | st.integers(0, 10**6)
FLOWS = st.lists(st.builds(Flow, COUNTS, COUNTS, COUNTS, COUNTS), min_size=1, max_size=90)
FIVE = [Bar(value) for value in (1, 1_200, 1, 1, 1)]
NOW = datetime(2026, 11, 28, 14, 42, tzinfo=UTC)
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
EVIL = '"><script>x</script>'
WORDS = (EVIL, Link("/", EVIL), Link(EVIL), Button("/", EVIL), Text((EVIL,)), Code(EVIL), Facts((EVIL, EVIL)))
FIGURES = (Table((EVIL,), [(EVIL,)]), Table((EVIL,), [], EVIL), Chart(EVIL, EVIL, [Bar(1, EVIL)] * 5, EVIL))


@pytest.mark.parametrize("part", [*WORDS, *FIGURES])
def test_words_are_escaped(part: Any) -> None:
    for drawn in (block(part), inline(part)):
        assert "<script" not in drawn
        assert "&lt;script&gt;" in drawn


def test_sentences_become_paragraphs_below_each_other_but_not_within_a_line() -> None:
    assert block(("One.", "", "Two.")) == "<p>One.</p><p>Two.</p>"
    assert inline(("One, ", Text("two", "note"))) == 'One, <span class="fl-note">two</span>'


def test_no_blank_parts_a_link_from_its_full_stop() -> None:
    assert block(Text((Link("/a", "A"), "."))) == '<p><a class="fl-link" href="/a">A</a>.</p>'


def test_only_links_to_other_sites_hide_where_they_are() -> None:
    assert 'rel="noopener noreferrer"' in inline(Link("https://blog.example/", "blog"))
    assert "rel=" not in inline(Link("/admin/", "admin"))


def test_a_link_to_nothing_counted_says_zero() -> None:
    assert inline(Link("/posts/", 0)) == '<a class="fl-link" href="/posts/">0</a>'


def test_facts_without_a_value_are_left_out_but_not_zero() -> None:
    drawn = block(Facts(("Tries", 0), ("Error", ""), ("Sent", None), ("Waiting", 1200)))
    assert drawn == '<dl class="fl-facts"><dt>Tries</dt><dd>0</dd><dt>Waiting</dt><dd>1,200</dd></dl>'


def test_a_table_without_rows_says_so_or_is_nothing() -> None:
    assert block(Table(("post",), [])) == '<p class="fl-quiet">Nothing yet.</p>'
    assert block(Table(("post",), [], "")) == ""


def test_a_list_has_commas_between_its_parts() -> None:
    assert [inline(listed(parts)) for parts in ((), ("a",), ("a", "b", "c"))] == ["", "a", "a, b, c"]


@pytest.mark.parametrize(
    ("moment", "words"),
    [
        (NOW, "14:42"),
        (NOW - 14 * HOUR, "0:42"),
        (NOW + HOUR, "Today 15:42"),
        (NOW - DAY, "Yesterday 14:42"),
        (NOW + DAY, "Tomorrow 14:42"),
        (NOW - 5 * DAY, "Mon 23 Nov"),
        (NOW + 2 * DAY, "Mon 30 Nov, 14:42"),
        (NOW - 365 * DAY, "Fri 28 Nov 2025"),
        (NOW + 40 * DAY, "Thu 7 Jan 2027, 14:42"),
    ],
)
def test_a_moment_is_as_short_as_it_can_be(moment: datetime, words: str) -> None:
    assert short_when(moment, now=NOW, zone=UTC) == words


def test_the_day_is_that_of_the_zone() -> None:
    assert short_when(NOW - 15 * HOUR, now=NOW, zone=ZoneInfo("Europe/Paris")) == "0:42"
    assert short_when(NOW - 15 * HOUR, now=NOW, zone=UTC) == "Yesterday 23:42"


def heights(*shown: Bar) -> list[int]:
    return [height for _, rects in bars(shown).columns for *_, height in rects]


def kinds(plot: Plot) -> list[str]:
    return [kind for _, rects in plot.columns for kind, *_ in rects]


def test_the_highest_stands_at_full_height_and_the_others_by_their_share() -> None:
    assert heights(Bar(10), Bar(5), Bar(2.5)) == [HIGH, HIGH // 2, HIGH // 4]


def test_nothing_is_still_seen_as_nothing() -> None:
    assert heights(Bar(0), Bar(0)) == [LOWEST, LOWEST]
    assert kinds(bars([Bar(0), Bar(1)])) == ["none", "bar"]


def test_bad_ones_stand_out_by_height_as_well_as_by_colour() -> None:
    shown = (Bar(5), Bar(99_999, is_bad=True))
    assert heights(*shown) == [BELOW_BAD, HIGH]
    assert kinds(bars(shown)) == ["bar", "bad"]


def test_fewer_than_five_points_are_only_said() -> None:
    shown = [Bar(1)] * FEWEST
    assert plot_of(Chart("Posts", "Few.", shown)) is not None
    assert "<svg" not in block(Chart("Posts", "Few.", [*shown[1:], Bar(0)]))
    assert "Few.</figcaption>" in block(Chart("Posts", "Few.", ()))


def test_no_more_than_a_bounded_number_is_drawn_and_the_newest_are() -> None:
    plot = plot_of(Chart("Posts", "", [Bar(1)] * MOST + [Bar(9)]))
    assert plot is not None
    assert len(plot.columns) == MOST
    assert plot.columns[-1][1][0][-1] == HIGH


def test_bars_stand_within_the_picture_and_do_not_overlap() -> None:
    plot = bars([Bar(n) for n in range(26)])
    places = [(left, width) for _, rects in plot.columns for _, left, _, width, _ in rects]
    assert all(x + w <= nx for (x, w), (nx, _) in pairwise(places))
    assert sum(places[-1]) == plot.width


@given(FLOWS)
def test_all_that_is_there_is_seen_and_stays_in_the_plot(shown: list[Flow]) -> None:
    plot = flows(shown)
    (ground,) = plot.lines
    for _, rects in plot.columns:
        for kind, _, top, _, height in rects:
            assert 0 <= top <= top + height <= HIGH
            if kind == "came":
                assert top + height == ground
            if kind == "went":
                assert top == ground
    for kind, part in {"came": "came", "not-yet": "not_yet", "went": "went", "lost": "lost"}.items():
        assert kinds(plot).count(kind) == sum(getattr(flow, part) > 0 for flow in shown)


def test_what_is_twice_as_much_is_twice_as_high() -> None:
    plot = flows([Flow(50, 0, 0, 0), Flow(25, 0, 0, 0)])
    assert [height for _, rects in plot.columns for kind, *_, height in rects if kind == "came"] == [100, 50]


@pytest.mark.parametrize(
    ("values", "scale"), [([3, 7], (0, 8)), ([0, 5_021], (0, 6_000)), ([90, 9], (0, 100)), ([0, 0], (0, 2))]
)
def test_a_scale_has_round_numbers_and_one_in_the_middle(values: list[int], scale: tuple[int, int]) -> None:
    assert scale_of(values) == scale


def test_a_line_far_above_zero_has_a_scale_of_its_own() -> None:
    low, high = scale_of([999_100, 1_000_000])
    assert low <= 999_100 < 1_000_000 <= high
    assert high - low <= 2_000


@pytest.mark.parametrize("columns", [FIVE, [Flow(1, 0, 0, 1)] * FEWEST])
def test_who_cannot_see_it_reads_its_title_and_words(columns: list[Bar | Flow]) -> None:
    drawn = block(Chart("Posts a week", "What it shows.", columns))
    assert 'role="img" aria-labelledby="fl-posts-a-week-title fl-posts-a-week-text"' in drawn
    assert '<title id="fl-posts-a-week-title">Posts a week</title>' in drawn
    assert '<desc id="fl-posts-a-week-text">What it shows.</desc>' in drawn


def test_numbers_of_a_wide_chart_have_no_commas_but_those_of_its_scale_do() -> None:
    drawn = block(Chart("Posts", "", [Bar(1), *[Bar(1_200)] * 200], is_line=True))
    assert 'viewBox="0 0 2010 100"' in drawn
    assert ",".join(re.findall(r"<span>([^<]*)</span>", drawn)) == "1,200,600,0"
