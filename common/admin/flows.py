"""Plots of what comes and what goes, as inline SVG: gains stand above a line, losses hang below."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

STEP, GAP = 10, 2
HEIGHT = 100
LOWEST = 2
SVG = (
    '<svg class="fl-spark fl-flow" role="img" aria-labelledby="{0}-title {0}-text" viewBox="0 0 {1} {2}"'
    ' preserveAspectRatio="none"><title id="{0}-title">{3}</title><desc id="{0}-text">{4}</desc>{5}</svg>'
)
RECT = '<rect class="{}" x="{}" y="{}" width="{}" height="{}"></rect>'
GROUP = "<g><title>{}</title>{}</g>"


@dataclass(frozen=True, slots=True)
class Flow:
    """What came (those for sure, and those not yet), what went, and what was lost; `words` say it in full."""

    came: int
    not_yet: int
    went: int
    lost: int
    words: str = ""

    @property
    def up(self) -> int:
        return self.came + self.not_yet

    @property
    def down(self) -> int:
        return self.went + self.lost


def flow_plot(flows: Sequence[Flow], *, name: str, title: str, description: str) -> SafeString:
    """A column for each, on one scale; nothing for none. `name` is unique on its page."""
    if not flows:
        return SafeString("")
    width = len(flows) * STEP - GAP
    highest, deepest = max(flow.up for flow in flows), max(flow.down for flow in flows)
    scale = HEIGHT / (highest + deepest or 1)
    ground = _ground(highest, deepest)
    line = format_html(RECT, "fl-ground", 0, ground, width, 0)
    columns = format_html_join(
        "", "{}", ((_column(flow, at, ground, scale),) for at, flow in enumerate(flows))
    )
    drawn = format_html("{}{}", line, columns)
    return format_html(SVG, name, width, HEIGHT, title, description, drawn)


def _column(flow: Flow, place: int, ground: int, scale: float) -> SafeString:
    rects = format_html_join("", RECT, _rects(flow, place * STEP, ground, scale))
    return format_html(GROUP, flow.words, rects)


def _rects(flow: Flow, left: int, ground: int, scale: float) -> Iterator[tuple[str, int, int, int, int]]:
    wide = STEP - GAP
    # What is pointed at, also where there is nothing.
    yield "fl-hit", left, 0, STEP, HEIGHT
    came, not_yet = _heights(flow.came, flow.not_yet, scale, ground)
    went, lost = _heights(flow.went, flow.lost, scale, HEIGHT - ground)
    for kind, top, height in (
        ("fl-came", ground - came, came),
        ("fl-not-yet", ground - came - not_yet, not_yet),
        ("fl-went", ground, went),
        ("fl-lost", ground + went, lost),
    ):
        if height:
            yield kind, left, top, wide, height


def _ground(highest: int, deepest: int) -> int:
    """Where the line is, with room for the smallest column on each side that has any."""
    ground = round(HEIGHT * highest / (highest + deepest)) if highest or deepest else HEIGHT
    return min(max(ground, 2 * LOWEST if highest else 0), HEIGHT - (2 * LOWEST if deepest else 0))


def _heights(first: int, second: int, scale: float, room: int) -> tuple[int, int]:
    """Of two that stand upon each other: each enough to be seen, and both within the plot."""
    least = LOWEST * ((first > 0) + (second > 0))
    whole = min(max(round((first + second) * scale), least), room)
    upper = min(max(round(second * scale), LOWEST), whole - (LOWEST if first else 0)) if second else 0
    return whole - upper, upper
