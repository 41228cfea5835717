"""A plot of a number by day as inline SVG, with a scale beside it and the values behind it; no scripts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from common.text import pluralize

WIDE, GAP_WITHIN, HIGH = 10, 2, 100
ROUND = (1, 2, 4, 5, 10)
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
    """Bars, or a line on its own scale; nothing for none. `word` is what is counted: “letter”.

    `name` is unique on its page. `said` says in a sentence what it shows, also to those who cannot see it.
    """
    if not values:
        return SafeString("")
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
    """The lowest and the highest line of the scale: round numbers with a whole number between them."""
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
    """1, 2, 4, 5, 10, 20, 40, 50, 100 …"""
    size: int = 10 ** (len(str(number)) - 1)
    return next(size * digit for digit in ROUND if size * digit >= number)


def _bar(place: int, height: int) -> SafeString:
    # A day with any is seen, however high the others are.
    kind, shown = ("fl-bar", max(height, 2)) if height else ("fl-none", 1)
    left = place * WIDE + GAP_WITHIN // 2
    return format_html(BAR_RECT, kind, left, HIGH - shown, WIDE - GAP_WITHIN, shown)
