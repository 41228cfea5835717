"""Small plots as inline SVG, without scripts: numbers in, markup out. The colours are the style sheet's."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

STEP, GAP = 10, 2
SPARK_HEIGHT = 100
LOWEST, BELOW_BAD = 3, 80
MOST = 400
SPARK_SVG = (
    '<svg class="fl-spark" role="img" aria-labelledby="{0}-title {0}-text" viewBox="0 0 {1} {2}"'
    ' preserveAspectRatio="none"><title id="{0}-title">{3}</title><desc id="{0}-text">{4}</desc>{5}</svg>'
)
SPARK_RECT = '<rect class="{}" x="{}" y="{}" width="{}" height="{}">{}</rect>'


@dataclass(frozen=True, slots=True)
class Bar:
    """`words` say it in full when it is pointed at. A `bad` one has the full height and another colour."""

    value: float
    words: str = ""
    bad: bool = False


def sparkline(bars: Sequence[Bar], *, name: str, title: str, description: str) -> SafeString:
    """The newest `MOST` bars side by side, the highest at full height; nothing for none.

    `name` is unique on its page. `title` and `description` say what it shows to people who cannot see it.
    """
    shown = bars[-MOST:]
    if not shown:
        return SafeString("")
    width = len(shown) * STEP - GAP
    rects = format_html_join("", SPARK_RECT, _rects(shown))
    return format_html(SPARK_SVG, name, width, SPARK_HEIGHT, title, description, rects)


def _rects(bars: Sequence[Bar]) -> list[tuple[str, int, int, int, int, SafeString]]:
    highest = max((bar.value for bar in bars if not bar.bad), default=0) or 1
    # Beside bad ones the good stay lower: the bad stand out also for people who see no colours.
    top = BELOW_BAD if any(bar.bad for bar in bars) else SPARK_HEIGHT
    rows = []
    for place, bar in enumerate(bars):
        height = SPARK_HEIGHT if bar.bad else max(round(top * max(bar.value, 0) / highest), LOWEST)
        kind = "fl-bad" if bar.bad else "fl-bar" if bar.value > 0 else "fl-none"
        words = format_html("<title>{}</title>", bar.words) if bar.words else SafeString("")
        rows.append((kind, place * STEP, SPARK_HEIGHT - height, STEP - GAP, height, words))
    return rows
