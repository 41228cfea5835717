"""Geometry of charts. Ordinates point downwards, as in SVG."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from common.parts import Bar, Chart, Flow

STEP, GAP = 10, 2
HIGH = 100
LOWEST, BELOW_BAD = 3, 80
LOWEST_FLOW = 2
MOST = 400
FEWEST = 5
# Tenths of a power of ten.
ROUND = (10, 15, 20, 25, 30, 40, 50, 60, 80, 100)

# Kind, left, top, width, height.
Rect = tuple[str, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Plot:
    """Tooltips with their rectangles; heights of lines; points of a curve; numbers beside the scale."""

    kind: str
    width: int
    columns: list[tuple[str, list[Rect]]]
    lines: tuple[int, ...] = ()
    points: str = ""
    ticks: tuple[int, ...] = ()


def plot_of(chart: Chart) -> Plot | None:
    """Return the newest MOST columns, or None for fewer than five, which a sentence says better."""
    columns: Sequence[Any] = chart.columns[-MOST:]
    if sum(each.size > 0 for each in columns) < FEWEST:
        return None
    draw = line if chart.is_line else flows if isinstance(columns[0], Flow) else bars
    return draw(columns)


def bars(columns: Sequence[Bar]) -> Plot:
    highest = max((bar.value for bar in columns if not bar.is_bad), default=0) or 1
    # So that bad bars differ without colours, too.
    top = BELOW_BAD if any(bar.is_bad for bar in columns) else HIGH
    rects = []
    for place, bar in enumerate(columns):
        height = HIGH if bar.is_bad else max(round(top * max(bar.value, 0) / highest), LOWEST)
        kind = "bad" if bar.is_bad else "bar" if bar.value > 0 else "none"
        rects.append((bar.words, [(kind, place * STEP, HIGH - height, STEP - GAP, height)]))
    return Plot("", len(columns) * STEP - GAP, rects)


def flows(columns: Sequence[Flow]) -> Plot:
    highest = max(flow.came + flow.not_yet for flow in columns)
    deepest = max(flow.went + flow.lost for flow in columns)
    scale = HIGH / (highest + deepest or 1)
    ground = round(HIGH * highest / (highest + deepest)) if highest or deepest else HIGH
    ground = min(max(ground, 2 * LOWEST_FLOW if highest else 0), HIGH - (2 * LOWEST_FLOW if deepest else 0))
    rects = [
        (flow.words, list(_flow(flow, place * STEP, ground, scale))) for place, flow in enumerate(columns)
    ]
    return Plot("flow", len(columns) * STEP - GAP, rects, (ground,))


def _flow(flow: Flow, left: int, ground: int, scale: float) -> Iterator[Rect]:
    yield "hit", left, 0, STEP, HIGH
    came, not_yet = _heights(flow.came, flow.not_yet, scale, ground)
    went, lost = _heights(flow.went, flow.lost, scale, HIGH - ground)
    for kind, top, height in (
        ("came", ground - came, came),
        ("not-yet", ground - came - not_yet, not_yet),
        ("went", ground, went),
        ("lost", ground + went, lost),
    ):
        if height:
            yield kind, left, top, STEP - GAP, height


def _heights(first: int, second: int, scale: float, room: int) -> tuple[int, int]:
    least = LOWEST_FLOW * ((first > 0) + (second > 0))
    whole = min(max(round((first + second) * scale), least), room)
    upper = (
        min(max(round(second * scale), LOWEST_FLOW), whole - (LOWEST_FLOW if first else 0)) if second else 0
    )
    return whole - upper, upper


def line(columns: Sequence[Bar]) -> Plot:
    bottom, top = scale_of([int(each.value) for each in columns])
    tops = [HIGH - round(HIGH * (each.value - bottom) / (top - bottom)) for each in columns]
    points = " ".join(f"{place * STEP + STEP // 2},{at}" for place, at in enumerate(tops))
    hits: list[tuple[str, list[Rect]]] = [
        (each.words, [("hit", place * STEP, 0, STEP, HIGH)]) for place, each in enumerate(columns)
    ]
    ticks = (top, (top + bottom) // 2, bottom)
    return Plot("days", len(columns) * STEP, hits, (0, HIGH // 2, HIGH), points, ticks)


def scale_of(values: Sequence[int]) -> tuple[int, int]:
    """Return round numbers around the values, from 0 unless they differ little."""
    lowest = 0 if min(values) * 2 < max(values) else min(values)
    step = _rounded_up(-(-(max(values) - lowest) // 2) or 1)
    begin = lowest // step * step
    while begin + 2 * step < max(values):
        step = _rounded_up(step + 1)
        begin = lowest // step * step
    return begin, begin + 2 * step


def _rounded_up(number: int) -> int:
    """Round up to 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 25 …"""
    size: int = 10 ** (len(str(number)) - 1)
    return next(size * each // 10 for each in ROUND if size * each // 10 >= number)
