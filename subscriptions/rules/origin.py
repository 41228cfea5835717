from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import Any, Self

from common.net.addresses import CLAIMED

Days = Mapping[date, int]
FIGURES = ("new", "confirmed", "left", "bounced")
WEEK = timedelta(days=7)


class How(StrEnum):
    PAGE = "page"
    DIRECTORY = "directory"
    EMBED = "embed"
    WIDGET = "widget"
    API = "api"
    V0 = "v0"
    MANAGE = "manage"
    ADMIN = "admin"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class Origin:
    """`ip` as given by the web server. `words`: consent text as shown. `claimed` is never stored.

    `zone`: the browser's time zone, if it named one.
    """

    how: How | str = How.PAGE
    ip: str = ""
    words: str = ""
    claimed: str = ""
    zone: str = ""

    @classmethod
    def of(cls, meta: Mapping[str, Any], how: How, words: str) -> Self:
        return cls(how, meta.get("REMOTE_ADDR", ""), words, meta.get(CLAIMED, ""))


@dataclass(frozen=True, slots=True)
class GrowthStretch:
    start: date
    new: int = 0
    confirmed: int = 0
    left: int = 0
    bounced: int = 0


def by_day(figures: Mapping[str, Days], *, today: date, count: int) -> list[GrowthStretch]:
    days = (today - timedelta(days=back) for back in reversed(range(count)))
    return [_stretch(figures, day, 1) for day in days]


def by_week(figures: Mapping[str, Days], *, today: date, count: int) -> list[GrowthStretch]:
    return [_stretch(figures, first_monday(today, count) + WEEK * each, 7) for each in range(count)]


def first_monday(today: date, count: int) -> date:
    return today - timedelta(days=today.weekday()) - WEEK * (count - 1)


def totals(stretches: list[GrowthStretch]) -> GrowthStretch:
    sums = {part: sum(getattr(each, part) for each in stretches) for part in FIGURES}
    return GrowthStretch(stretches[0].start, **sums)


def _stretch(figures: Mapping[str, Days], start: date, length: int) -> GrowthStretch:
    days = [start + timedelta(days=each) for each in range(length)]
    counts = {part: sum(figures.get(part, {}).get(day, 0) for day in days) for part in FIGURES}
    return GrowthStretch(start, **counts)
