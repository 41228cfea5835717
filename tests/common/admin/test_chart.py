"""Charts of bars, of gains and losses, and of a curve."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.admin.chart import BELOW_BAD, FEWEST, HIGH, LOWEST, MOST, Plot, bars, flows, plot_of, scale_of
from common.admin.html import block
from common.parts import Bar, Chart, Flow

COUNTS = st.integers(0, 10) | st.integers(0, 10**6)
FLOWS = st.lists(st.builds(Flow, COUNTS, COUNTS, COUNTS, COUNTS), min_size=1, max_size=90)
FIVE = [Bar(value) for value in (1, 1_200, 1, 1, 1)]


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
