from hypothesis import given
from hypothesis import strategies as st

from common.html.balance import balance
from delivery.rendering.shortening import fair_share, shorten


def test_small_posts_leave_their_room_to_long_ones() -> None:
    assert fair_share([10, 1000, 1000], 110) == 50
    assert fair_share([10, 20], 110) == 20


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=30), st.integers(0, 50_000))
def test_shares_fit_the_budget_and_cut_nothing_that_fits(sizes: list[int], budget: int) -> None:
    share = fair_share(sizes, budget)
    cut = [min(size, share) for size in sizes]
    assert sum(cut) <= budget
    assert cut == sizes or sum(sizes) > budget


@given(
    st.lists(
        st.sampled_from(["<p>", "</p>", "<b>x</b>", "rain ", "<br>", "&amp;", '<img src="x">', "</div>"])
    )
)
def test_what_is_cut_is_short_and_closed(pieces: list[str]) -> None:
    html = balance("".join(pieces * 20))
    cut = shorten(html, 200)
    assert len(cut) <= len("<p></p>") + 5 * 200
    assert balance(cut) == cut


def test_only_what_is_too_long_is_cut() -> None:
    assert shorten("<p>Rain.</p>", 12) == "<p>Rain.</p>"
    assert shorten("<p>Rain on the river.</p>" * 10, 100) == "<p>Rain on the river.</p>" * 4
