from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from common.text import pluralize

STEP, GAP = 10, 2
SPARK_HEIGHT = 100
LOWEST, BELOW_BAD = 3, 80
MOST = 400
FEWEST = 5
SPARK_SVG = (
    '<svg class="fl-spark" role="img" aria-labelledby="{0}-title {0}-text" viewBox="0 0 {1} {2}"'
    ' preserveAspectRatio="none"><title id="{0}-title">{3}</title><desc id="{0}-text">{4}</desc>{5}</svg>'
)
SPARK_RECT = '<rect class="{}" x="{}" y="{}" width="{}" height="{}">{}</rect>'


@dataclass(frozen=True, slots=True)
class Bar:
    """`words` is the tooltip. A `bad` bar has the full height."""

    value: float
    words: str = ""
    bad: bool = False


def is_worth_drawing(values: Iterable[float]) -> bool:
    """Return False for fewer than five points, which a sentence says better."""
    return sum(value > 0 for value in values) >= FEWEST


def sparkline(bars: Sequence[Bar], *, name: str, title: str, description: str) -> SafeString:
    """Draw the newest MOST bars. `name` is unique on the page."""
    shown = bars[-MOST:]
    if not shown:
        return SafeString("")
    width = len(shown) * STEP - GAP
    rects = format_html_join("", SPARK_RECT, _rects(shown))
    return format_html(SPARK_SVG, name, width, SPARK_HEIGHT, title, description, rects)


def _rects(bars: Sequence[Bar]) -> list[tuple[str, int, int, int, int, SafeString]]:
    highest = max((bar.value for bar in bars if not bar.bad), default=0) or 1
    # So that bad bars differ without colours, too.
    top = BELOW_BAD if any(bar.bad for bar in bars) else SPARK_HEIGHT
    rows = []
    for place, bar in enumerate(bars):
        height = SPARK_HEIGHT if bar.bad else max(round(top * max(bar.value, 0) / highest), LOWEST)
        kind = "fl-bad" if bar.bad else "fl-bar" if bar.value > 0 else "fl-none"
        words = format_html("<title>{}</title>", bar.words) if bar.words else SafeString("")
        rows.append((kind, place * STEP, SPARK_HEIGHT - height, STEP - GAP, height, words))
    return rows


WIDE, GAP_WITHIN, HIGH = 10, 2, 100
# Tenths of a power of ten.
ROUND = (10, 15, 20, 25, 30, 40, 50, 60, 80, 100)
FIGURE = (
    '<figure class="fl-scaled"><figcaption class="fl-quiet">{said}</figcaption>'
    '<div class="fl-scale" aria-hidden="true">{ticks}</div>'
    '<svg class="fl-spark fl-days" role="img" aria-labelledby="{name}-title {name}-text"'
    ' viewBox="0 0 {wide} {high}" preserveAspectRatio="none">'
    '<title id="{name}-title">{title}</title><desc id="{name}-text">{said}</desc>'
    "{lines}{drawn}</svg>"
    '<p class="fl-axis"><span>{first}</span><span>{last}</span></p></figure>'
)
GRID = '<line class="fl-grid" x1="0" x2="{}" y1="{}" y2="{}"></line>'
COLUMN = '<g><title>{}</title><rect class="fl-hit" x="{}" y="0" width="{}" height="{}"></rect>{}</g>'
BAR_RECT = '<rect class="{}" x="{}" y="{}" width="{}" height="{}"></rect>'


@dataclass(frozen=True, slots=True)
class DayValue:
    day: date
    value: int


def day_plot(
    values: Sequence[DayValue], *, name: str, title: str, said: str, word: str, is_line: bool = False
) -> SafeString:
    """Draw bars, or a line on a separate scale; only `said` if there is too little to draw.

    `name` is unique on the page, `said` describes the plot, `word` is the unit, such as “letter”.
    """
    if not is_worth_drawing(each.value for each in values):
        return format_html('<p class="fl-quiet">{}</p>', said)
    bottom, top = scale_of([each.value for each in values], from_zero=not is_line)
    wide = len(values) * WIDE
    heights = [round(HIGH * (each.value - bottom) / (top - bottom)) for each in values]
    columns = format_html_join(
        "",
        COLUMN,
        (
            (
                f"{each.day:%a} {short_day(each.day)}: {pluralize(each.value, word)}",
                place * WIDE,
                WIDE,
                HIGH,
                "" if is_line else _bar(place, height),
            )
            for place, (each, height) in enumerate(zip(values, heights, strict=True))
        ),
    )
    points = " ".join(f"{place * WIDE + WIDE // 2},{HIGH - height}" for place, height in enumerate(heights))
    line = format_html('<polyline class="fl-line" points="{}"></polyline>', points) if is_line else ""
    ticks = (top, (top + bottom) // 2, bottom)
    return format_html(
        FIGURE,
        name=name,
        title=title,
        said=said,
        wide=wide,
        high=HIGH,
        ticks=format_html_join("", "<span>{}</span>", ((f"{tick:,}",) for tick in ticks)),
        lines=format_html_join("", GRID, ((wide, at, at) for at in (0, HIGH // 2, HIGH))),
        drawn=format_html("{}{}", line, columns),
        first=short_day(values[0].day),
        last=short_day(values[-1].day),
    )


def scale_of(values: Sequence[int], *, from_zero: bool = True) -> tuple[int, int]:
    lowest = 0 if from_zero or min(values) * 2 < max(values) else min(values)
    step = _rounded_up(-(-(max(values) - lowest) // 2) or 1)
    begin = lowest // step * step
    while begin + 2 * step < max(values):
        step = _rounded_up(step + 1)
        begin = lowest // step * step
    return begin, begin + 2 * step


def short_day(day: date) -> str:
    return f"{day.day} {day:%b}"


def _rounded_up(number: int) -> int:
    """Round up to 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 25 …"""
    size: int = 10 ** (len(str(number)) - 1)
    return next(size * each // 10 for each in ROUND if size * each // 10 >= number)


def _bar(place: int, height: int) -> SafeString:
    kind, shown = ("fl-bar", max(height, 2)) if height else ("fl-none", 1)
    left = place * WIDE + GAP_WITHIN // 2
    return format_html(BAR_RECT, kind, left, HIGH - shown, WIDE - GAP_WITHIN, shown)
