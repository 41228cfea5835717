"""Charts of gains and losses."""

import re

from hypothesis import given
from hypothesis import strategies as st

from common.admin.flows import FLOW_HEIGHT, Flow, flow_plot

COUNTS = st.integers(0, 10) | st.integers(0, 10**6)
FLOWS = st.lists(st.builds(Flow, COUNTS, COUNTS, COUNTS, COUNTS), min_size=1, max_size=90)
RECT = re.compile(r'class="([^"]*)" x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)"')


def drawn(flows: list[Flow]) -> str:
    return flow_plot(flows, name="a", title="T", description="D")


@given(FLOWS)
def test_all_that_is_there_is_seen_and_stays_in_the_plot(flows: list[Flow]) -> None:
    rects = [(kind, int(y), int(height)) for kind, _, y, _, height in RECT.findall(drawn(flows))]
    ground = next(y for kind, y, _ in rects if kind == "fl-ground")
    for kind, y, height in rects:
        assert 0 <= y <= y + height <= FLOW_HEIGHT
        if kind == "fl-came":
            assert y + height == ground
        if kind == "fl-went":
            assert y == ground
    parts = {"fl-came": "came", "fl-not-yet": "not_yet", "fl-went": "went", "fl-lost": "lost"}
    for kind, part in parts.items():
        assert sum(name == kind for name, _, _ in rects) == sum(getattr(flow, part) > 0 for flow in flows)


def test_what_is_twice_as_much_is_twice_as_high() -> None:
    heights = [
        int(h)
        for kind, *_, h in RECT.findall(drawn([Flow(50, 0, 0, 0), Flow(25, 0, 0, 0)]))
        if kind == "fl-came"
    ]
    assert heights == [100, 50]


def test_it_says_what_it_shows_and_escapes_that() -> None:
    svg = flow_plot([Flow(1, 0, 0, 0, "<b>")], name="a", title="<i>", description="D & d")
    assert 'role="img" aria-labelledby="a-title a-text"' in svg
    assert '<title id="a-title">&lt;i&gt;</title>' in svg
    assert "<title>&lt;b&gt;</title>" in svg
    assert "D &amp; d" in svg


def test_nothing_is_no_plot() -> None:
    assert flow_plot([], name="a", title="T", description="D") == ""
