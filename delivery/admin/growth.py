"""How the lists grow: gains and losses by day and by week, with what came back among them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString

from common.admin.flows import Flow, flow_plot
from common.text import pluralize
from delivery.bounces.list_growth import WEEKS, growth_of
from subscriptions.models import Subscribable
from subscriptions.rules.growth import GrowthStretch, by_day, by_week, totals
from subscriptions.subscribers.counts import confirmed_counts

DAYS = 84


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot with what it says."""

    title: str
    words: str
    drawn: SafeString
    first: str
    last: str
    rows: list[tuple[str, GrowthStretch]]


def of_newsletter(subscribable: Subscribable) -> SafeString | str:
    """For a newsletter's page; nothing for a bridge, and for one that nobody ever subscribed to."""
    return drawn(subscribable) if subscribable.channel == "email" else ""


def drawn(subscribable: Subscribable) -> SafeString | str:
    """Of one newsletter."""
    today = timezone.localdate()
    now = confirmed_counts([subscribable.pk])[subscribable.pk]
    return drawn_of(growth_of(subscribable, today), today, now)


def drawn_of(found: Mapping[str, Mapping[date, int]], today: date, now: int) -> SafeString | str:
    """The plots of figures that were counted, if there is anything to plot. `now`: how many there are."""
    plots = plots_of(found, today)
    if not plots:
        return ""
    return render_to_string(
        "admin/delivery/growth.html", {"plots": plots, "now": pluralize(now, "subscriber"), "days": DAYS}
    )


def plots_of(found: Mapping[str, Mapping[date, int]], today: date) -> list[Plot]:
    """By day and by week; none where there is nothing to plot."""
    if not any(found.values()):
        return []
    by_days, by_weeks = by_day(found, today=today, count=DAYS), by_week(found, today=today, count=WEEKS)
    return [
        _plot("fl-days", "The last 12 weeks, by day", by_days, lambda day: f"{day:%a} {day.day} {day:%b}"),
        _plot("fl-weeks", "The last year, by week", by_weeks, lambda day: f"Week of {day.day} {day:%b %Y}"),
    ]


def _plot(name: str, title: str, stretches: Sequence[GrowthStretch], label: Callable[[date], str]) -> Plot:
    said = said_of(totals(list(stretches)))
    flows = [
        Flow(
            each.confirmed,
            max(each.new - each.confirmed, 0),
            each.left,
            each.bounced,
            f"{label(each.start)}: {said_of(each)}",
        )
        for each in stretches
    ]
    rows = [(label(each.start), each) for each in reversed(stretches) if each != GrowthStretch(each.start)]
    plot = flow_plot(flows, name=name, title=title, description=said)
    return Plot(title, said, plot, label(stretches[0].start), label(stretches[-1].start), rows)


def said_of(each: GrowthStretch) -> str:
    return f"{each.new:,} new, {each.confirmed:,} confirmed, {each.left:,} left, {each.bounced:,} bounced"
