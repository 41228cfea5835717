"""Figures of an issue: progress, counts, rate, chart, domains and problems."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, tzinfo
from typing import Any

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from common.admin.day_plot import Bar, is_worth_drawing, sparkline
from common.admin.flows import Flow, flow_plot
from common.admin.html import ago, html_table, link_to, list_link, list_url, when
from common.clock import utcnow
from common.text import pluralize
from delivery.admin.bridges.panels import is_bridge
from delivery.bounces.list_growth import WEEKS, growth_of
from delivery.issues import progress
from delivery.models import Attempt, Delivery, Issue
from delivery.rules.progress import arrived, ended, result_sentence, time_left, total, waiting, waiting_words
from subscriptions.models import Subscribable
from subscriptions.rules.growth import GrowthStretch, by_day, by_week, totals
from subscriptions.subscribers.counts import confirmed_counts

DAYS = 84


@dataclass(frozen=True, slots=True)
class Plot:
    title: str
    words: str
    drawn: SafeString
    first: str
    last: str
    rows: list[tuple[str, GrowthStretch]]


def of_newsletter(subscribable: Subscribable) -> SafeString | str:
    """Show a newsletter's growth; "" for a bridge, and without any subscriber ever."""
    return drawn(subscribable) if subscribable.channel == "email" else ""


def drawn(subscribable: Subscribable) -> SafeString | str:
    today = timezone.localdate()
    now = confirmed_counts([subscribable.pk])[subscribable.pk]
    return drawn_of(growth_of(subscribable, today), today, now)


def drawn_of(found: Mapping[str, Mapping[date, int]], today: date, now: int) -> SafeString | str:
    """Plot counted figures, or return "". `now` is the current number of subscribers."""
    plots = plots_of(found, today)
    if not plots:
        return ""
    return render_to_string(
        "admin/delivery/growth.html", {"plots": plots, "now": pluralize(now, "subscriber"), "days": DAYS}
    )


def plots_of(found: Mapping[str, Mapping[date, int]], today: date) -> list[Plot]:
    if not any(found.values()):
        return []
    by_days, by_weeks = by_day(found, today=today, count=DAYS), by_week(found, today=today, count=WEEKS)
    plots = [
        _plot("fl-days", "The last 12 weeks, by day", by_days, lambda day: f"{day:%a} {day.day} {day:%b}"),
        _plot("fl-weeks", "The last year, by week", by_weeks, lambda day: f"Week of {day.day} {day:%b %Y}"),
    ]
    return [plot for plot in plots if plot.drawn] or plots[1:]


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
    is_drawn = is_worth_drawing(flow.up + flow.down for flow in flows)
    plot = flow_plot(flows, name=name, title=title, description=said) if is_drawn else SafeString("")
    return Plot(title, said, plot, label(stretches[0].start), label(stretches[-1].start), rows)


def said_of(each: GrowthStretch) -> str:
    return f"{each.new:,} new, {each.confirmed:,} confirmed, {each.left:,} left, {each.bounced:,} bounced"


EVERY_SECONDS = 3
# Letters waiting for a retry change seldom.
SELDOM_SECONDS = 30
TROUBLES_SHOWN = 20
STATE_TONES = {
    "sent": "good",
    "stored": "good",
    "deferred": "wait",
    "failed": "bad",
    "held": "bad",
    "bounced": "bad",
}


def how_far(issue: Issue) -> SafeString | str:
    """Show progress, which the page polls during sending; "" for a draft."""
    if issue.published_at is None:
        return ""
    if issue.issue_import_id is not None:
        return "Sent by another program before, so there are no figures."
    counts = progress.counts(issue)
    if issue.awaits_reader:
        return "In the archive only, because there were no subscribers yet."
    if not total(counts):
        return "There were no subscribers when it was sent."
    state = progress.issue_state(issue, counts)
    context = {
        "address": reverse("admin:delivery_issue_progress", args=[issue.pk]),
        "every": EVERY_SECONDS if counts["queued"] or counts["sending"] else SELDOM_SECONDS,
        "state": state,
        "value": done(state, counts),
        "max": total(counts),
        "result": result_sentence(
            state,
            counts,
            bounced=sum(progress.bounced(issue).values()),
            noun="place" if is_bridge(issue.subscribable) else "subscriber",
        ),
        "percent": 100 * done(state, counts) // total(counts),
        "words": progress_words(issue, state, counts),
        "parts": state_parts(issue, counts),
        "reason": issue.subscribable.sending_paused_reason if issue.subscribable.sending_paused_at else "",
        "newsletter": link_to(issue.subscribable),
    }
    return render_to_string("admin/issue_progress.html", context)


def done(state: str, counts: Counter[str]) -> int:
    """Return the bar's length. Cancelled letters reached nobody, so they don't count."""
    return arrived(counts) + counts["failed"] if state in ("paused", "cancelled") else ended(counts)


def progress_words(issue: Issue, state: str, counts: Counter[str]) -> str:
    if state == "sending":
        return pace_words(issue, counts)
    left = waiting(counts) + counts["held"]
    if state == "cancelled" and left:
        return f"{left:,} are still being cancelled."
    return ""


def pace_words(issue: Issue, counts: Counter[str]) -> str:
    """Return, for example, "9,500 in the last minute, about 40 minutes left"."""
    rate = progress.per_minute(issue, now=utcnow())
    if not rate and not counts["queued"] and not counts["sending"]:
        number = pluralize(counts["deferred"], "email")
        return f"{number} couldn’t be delivered yet. We’ll try again."
    if not rate:
        return "No email was sent within the last minute."
    left = time_left(counts, rate)
    return f"{rate:,} in the last minute" + (f", about {ago(left)} left." if left else ".")


def state_parts(issue: Issue, counts: Counter[str]) -> list[dict[str, Any]]:
    labels = dict(Delivery.State.choices)
    shown = [
        (labels[state].lower(), counts[state], STATE_TONES.get(state, "still"), {"state__exact": state})
        for state in Delivery.State.values
        if counts[state]
    ]
    back = sum(progress.bounced(issue).values())
    if back:
        shown.append(("bounced", back, STATE_TONES["bounced"], {"bounces__isnull": "False"}))
    return [
        {
            "label": label,
            "count": f"{count:,}",
            "tone": tone,
            "url": list_url(Delivery, issue__id__exact=issue.pk, **more),
        }
        for label, count, tone, more in shown
    ]


def live(issue: Issue) -> SafeString:
    """Return all parts that change during sending, under their names on the page."""
    parts = (("arrivals", arrivals(issue)), ("domains", by_domain(issue)))
    said = format_html_join("", '<div data-live="{}">{}</div>', parts)
    return format_html("{}{}", how_far(issue), said)


def live_arrivals(issue: Issue) -> SafeString | str:
    """Return the chart, which gets a place as soon as sending begins."""
    return _live(issue, "arrivals", arrivals(issue), "The first emails are being sent.")


def live_domains(issue: Issue) -> SafeString | str:
    return _live(issue, "domains", by_domain(issue), "No emails sent yet.")


def _live(issue: Issue, name: str, shown: SafeString | str, empty: str) -> SafeString | str:
    is_being_sent = issue.published_at is not None and waiting(progress.counts(issue)) > 0
    if not shown and not is_being_sent:
        return ""
    return format_html('<div data-live="{}">{}</div>', name, shown or quiet(empty))


def quiet(text: str) -> SafeString:
    return format_html('<p class="fl-quiet">{}</p>', text)


def arrivals(issue: Issue) -> SafeString | str:
    bars = progress.chart(issue) if issue.published_at else []
    if not bars:
        return ""
    zone = issue.subscribable.zone
    number, most = pluralize(sum(bar.count for bar in bars), "email"), max(bar.count for bar in bars)
    said = f"{number}, at most {most:,} {per(bars[0].minutes)}."
    if not is_worth_drawing(bar.count for bar in bars):
        return quiet(said)
    plot = sparkline(
        [Bar(bar.count, f"{when(bar.start, zone=zone)}: {pluralize(bar.count, 'email')}") for bar in bars],
        name="fl-arrived",
        title=f"Emails {per(bars[0].minutes)}",
        description=said,
    )
    start, end = timezone.localtime(bars[0].start, zone), timezone.localtime(bars[-1].start, zone)
    axis = format_html(
        '<p class="fl-axis"><span>{}</span><span>{}</span></p>',
        when(start, zone=zone),
        f"{end:%H:%M}" if start.date() == end.date() else when(end, zone=zone),
    )
    return format_html('<figure class="fl-plot"><figcaption>{}</figcaption>{}{}</figure>', said, plot, axis)


def per(minutes: int) -> str:
    """Return "a minute", "in 10 minutes", "an hour" or "a day"."""
    single = {1: "a minute", 60: "an hour", 1440: "a day"}
    if minutes in single:
        return single[minutes]
    return f"in {minutes // 60} hours" if minutes % 60 == 0 else f"in {minutes} minutes"


def by_domain(issue: Issue) -> SafeString | str:
    """Return the twenty domains with most problems, or else most letters."""
    figures = progress.domain_figures(issue) if issue.published_at else []
    if not figures:
        return ""
    rows = []
    for row in figures:
        theirs = list_link(Delivery, row.domain, issue__id__exact=issue.pk, domain__exact=row.domain)
        counts = (row.sent, row.failed, row.bounced, row.deferred)
        said = waiting_words(row.waiting, row.held) if row.waiting or row.held else ""
        rows.append((theirs, *(f"{count:,}" if count else "" for count in counts), said))
    head = ("domain", "sent", "failed", "bounced", "deferred", "waiting")
    table = format_html('<div class="fl-domains">{}</div>', html_table(head, rows))
    if any(row.failed or row.bounced or row.deferred or row.held for row in figures):
        return table
    said = f"{pluralize(len(figures), 'domain')}, no failures"
    return format_html('<details class="fl-fold"><summary>{}</summary>{}</details>', said, table)


def trouble(issue: Issue) -> SafeString | str:
    """List deliveries with problems, with their latest attempts in the servers' words."""
    # An order would read all that failed.
    every = issue.deliveries.select_related("destination").order_by()
    # Waiting for the end of a pause is no problem.
    held = every.filter(state=Delivery.State.HELD).exclude(held_for=Delivery.HeldFor.PAUSE)
    rows: list[Delivery] = []
    for some in (every.filter(state="failed"), every.filter(state="deferred"), held):
        rows += sorted(some[: TROUBLES_SHOWN + 1 - len(rows)], key=lambda row: row.pk)
    if not rows:
        return ""
    are_more = len(rows) > TROUBLES_SHOWN
    del rows[TROUBLES_SHOWN:]
    attempts: dict[int, list[Attempt]] = defaultdict(list)
    for attempt in Attempt.objects.filter(delivery__in=[row.pk for row in rows]).order_by("-at", "-pk"):
        attempts[attempt.delivery_id].append(attempt)
    zone = issue.subscribable.zone
    shown = [
        (
            link_to(row, row.destination),
            row.get_state_display().lower(),
            server_words(row, attempts[row.pk], zone),
        )
        for row in rows
    ]
    figures = html_table(("to", "state", "the server’s answer"), shown)
    if not are_more:
        return figures
    links = [
        list_link(Delivery, words, issue__id__exact=issue.pk, state__exact=state)
        for state, words in (
            ("failed", "All that failed"),
            ("deferred", "all deferred"),
            ("held", "all held"),
        )
    ]
    return format_html("{}<p>{}, {}, {}</p>", figures, *links)


def server_words(row: Delivery, attempts: list[Attempt], zone: tzinfo) -> SafeString | str:
    """Return the latest attempts, similar ones merged, or else the delivery's last error."""
    if not attempts:
        return row.last_error
    alike: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        alike[attempt.text or attempt.outcome].append(attempt)
    lines = []
    for text, group in list(alike.items())[:3]:
        latest = when(group[0].at, zone=zone)
        lines.append((text, latest if len(group) == 1 else f"{len(group):,} times, the last on {latest}"))
    return format_html_join(
        "", '<span class="fl-attempt">{} <span class="fl-quiet">({})</span></span>', lines
    )
