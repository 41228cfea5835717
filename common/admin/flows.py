from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.admin import FieldListFilter
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString


def asks(
    question: str, usual: type[FieldListFilter], answers: Mapping[str, str] | None = None
) -> type[FieldListFilter]:
    """Return a filter with a question as its title; `answers` replaces labels."""

    class Question(usual):  # type: ignore[misc, valid-type]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.title = question

        def choices(self, changelist: Any) -> Iterator[dict[str, Any]]:
            for choice in super().choices(changelist):
                words = str(choice["display"])
                yield choice | {"display": (answers or {}).get(words, words)}

    # Templates check the name of the class.
    Question.__name__ = usual.__name__
    return Question


STEP, GAP = 10, 2
FLOW_HEIGHT = 100
LOWEST = 2
FLOW_SVG = (
    '<svg class="fl-spark fl-flow" role="img" aria-labelledby="{0}-title {0}-text" viewBox="0 0 {1} {2}"'
    ' preserveAspectRatio="none"><title id="{0}-title">{3}</title><desc id="{0}-text">{4}</desc>{5}</svg>'
)
FLOW_RECT = '<rect class="{}" x="{}" y="{}" width="{}" height="{}"></rect>'
GROUP = "<g><title>{}</title>{}</g>"


@dataclass(frozen=True, slots=True)
class Flow:
    """Gains, certain (`came`) or not yet, and losses, intended (`went`) or not (`lost`)."""

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
    """`name` is unique on the page; the plot is "" without flows."""
    if not flows:
        return SafeString("")
    width = len(flows) * STEP - GAP
    highest, deepest = max(flow.up for flow in flows), max(flow.down for flow in flows)
    scale = FLOW_HEIGHT / (highest + deepest or 1)
    ground = round(FLOW_HEIGHT * highest / (highest + deepest)) if highest or deepest else FLOW_HEIGHT
    ground = min(max(ground, 2 * LOWEST if highest else 0), FLOW_HEIGHT - (2 * LOWEST if deepest else 0))
    line = format_html(FLOW_RECT, "fl-ground", 0, ground, width, 0)
    rects = (_rects(flow, place * STEP, ground, scale) for place, flow in enumerate(flows))
    columns = format_html_join(
        "",
        GROUP,
        (
            (flow.words, format_html_join("", FLOW_RECT, each))
            for flow, each in zip(flows, rects, strict=True)
        ),
    )
    drawn = format_html("{}{}", line, columns)
    return format_html(FLOW_SVG, name, width, FLOW_HEIGHT, title, description, drawn)


def _rects(flow: Flow, left: int, ground: int, scale: float) -> Iterator[tuple[str, int, int, int, int]]:
    wide = STEP - GAP
    yield "fl-hit", left, 0, STEP, FLOW_HEIGHT
    came, not_yet = _heights(flow.came, flow.not_yet, scale, ground)
    went, lost = _heights(flow.went, flow.lost, scale, FLOW_HEIGHT - ground)
    for kind, top, height in (
        ("fl-came", ground - came, came),
        ("fl-not-yet", ground - came - not_yet, not_yet),
        ("fl-went", ground, went),
        ("fl-lost", ground + went, lost),
    ):
        if height:
            yield kind, left, top, wide, height


def _heights(first: int, second: int, scale: float, room: int) -> tuple[int, int]:
    least = LOWEST * ((first > 0) + (second > 0))
    whole = min(max(round((first + second) * scale), least), room)
    upper = min(max(round(second * scale), LOWEST), whole - (LOWEST if first else 0)) if second else 0
    return whole - upper, upper
