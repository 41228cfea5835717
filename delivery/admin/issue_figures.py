"""Figures of an issue: progress, counts, rate, chart, domains and problems."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import date, tzinfo

from django.db.models import Count
from django.urls import reverse
from django.utils import timezone

from common.admin.chart import plot_of
from common.admin.html import ago, list_link, when
from common.clock import utcnow
from common.parts import Bar, Box, Chart, Dot, Flow, Fold, Link, Live, Part, Table, Template, Text, listed
from common.text import pluralize
from delivery.admin.bridges.panels import is_bridge
from delivery.bounces.list_growth import WEEKS, growth_of
from delivery.issues import progress
from delivery.models import Attempt, Delivery, Issue
from delivery.rules.progress import arrived, ended, result_sentence, time_left, total, waiting, waiting_words
from subscriptions.models import Subscribable
from subscriptions.rules.origin import GrowthStretch, by_day, by_week, totals
from subscriptions.subscribers.counts import confirmed_counts

DAYS = 84


HEAD = ("when", "new", "confirmed", "left", "bounced")
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


def of_newsletter(subscribable: Subscribable) -> Part:
    """Show a newsletter's growth; "" for a bridge, and without any subscriber ever."""
    if subscribable.channel != "email":
        return ""
    today = timezone.localdate()
    now = confirmed_counts([subscribable.pk])[subscribable.pk]
    return growth(growth_of(subscribable, today), today, now)


def growth(found: Mapping[str, Mapping[date, int]], today: date, now: int) -> Part:
    """Plot counted figures, or return "". `now` is the current number of subscribers."""
    if not any(found.values()):
        return ""
    by_days, by_weeks = by_day(found, today=today, count=DAYS), by_week(found, today=today, count=WEEKS)
    every = (
        _chart("The last 12 weeks, by day", by_days, lambda day: f"{day:%a} {day.day} {day:%b}"),
        _chart("The last year, by week", by_weeks, lambda day: f"Week of {day.day} {day:%b %Y}"),
    )
    charts = tuple(filter(plot_of, every)) or every[1:]
    context = {"charts": charts, "now": pluralize(now, "subscriber"), "is_drawn": plot_of(charts[0])}
    return Template("admin/delivery/growth.html", context)


def _chart(title: str, stretches: Sequence[GrowthStretch], label: Callable[[date], str]) -> Chart:
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
    rows = [
        (label(each.start), each.new, each.confirmed, each.left, each.bounced)
        for each in reversed(stretches)
        if each != GrowthStretch(each.start)
    ]
    return Chart(
        title,
        said_of(totals(list(stretches))),
        flows,
        label(stretches[0].start),
        label(stretches[-1].start),
        below=Fold("The same as a table", Table(HEAD, rows, is_figures=True)) if rows else "",
    )


def said_of(each: GrowthStretch) -> str:
    return f"{each.new:,} new, {each.confirmed:,} confirmed, {each.left:,} left, {each.bounced:,} bounced"


def progress_panel(issue: Issue) -> Part:
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
        "newsletter": Link(issue.subscribable),
    }
    return Template("admin/issue_progress.html", context)


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


def state_parts(issue: Issue, counts: Counter[str]) -> tuple[Part, ...]:
    labels = dict(Delivery.State.choices)
    shown = [
        (labels[state].lower(), counts[state], STATE_TONES.get(state, "still"), {"state__exact": state})
        for state in Delivery.State.values
        if counts[state]
    ]
    back = sum(progress.bounced(issue).values())
    if back:
        shown.append(("bounced", back, STATE_TONES["bounced"], {"bounces__isnull": "False"}))
    return tuple(
        list_link(Delivery, (Dot(tone), f"{count:,} {label}"), issue__id__exact=issue.pk, **more)
        for label, count, tone, more in shown
    )


def live(issue: Issue) -> Part:
    """Return all parts that change during sending, under their names on the page."""
    return (progress_panel(issue), Live("arrivals", arrivals(issue)), Live("domains", by_domain(issue)))


def live_arrivals(issue: Issue) -> Part:
    """Return the chart, which gets a place as soon as sending begins."""
    return _live(issue, "arrivals", arrivals(issue), "The first emails are being sent.")


def live_domains(issue: Issue) -> Part:
    return _live(issue, "domains", by_domain(issue), "No emails sent yet.")


def _live(issue: Issue, name: str, shown: Part, empty: str) -> Part:
    is_being_sent = issue.published_at is not None and waiting(progress.counts(issue)) > 0
    if not shown and not is_being_sent:
        return ""
    return Live(name, shown or Text(empty, "quiet"))


def arrivals(issue: Issue) -> Part:
    bars = progress.chart(issue) if issue.published_at else []
    if not bars:
        return ""
    zone = issue.subscribable.zone
    number, most = pluralize(sum(bar.count for bar in bars), "email"), max(bar.count for bar in bars)
    start, end = timezone.localtime(bars[0].start, zone), timezone.localtime(bars[-1].start, zone)
    return Chart(
        f"Emails {per(bars[0].minutes)}",
        f"{number}, at most {most:,} {per(bars[0].minutes)}.",
        [Bar(bar.count, f"{when(bar.start, zone=zone)}: {pluralize(bar.count, 'email')}") for bar in bars],
        when(start, zone=zone),
        f"{end:%H:%M}" if start.date() == end.date() else when(end, zone=zone),
    )


def per(minutes: int) -> str:
    """Return "a minute", "in 10 minutes", "an hour" or "a day"."""
    single = {1: "a minute", 60: "an hour", 1440: "a day"}
    if minutes in single:
        return single[minutes]
    return f"in {minutes // 60} hours" if minutes % 60 == 0 else f"in {minutes} minutes"


def by_domain(issue: Issue) -> Part:
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
    table = Box("domains", Table(head, rows))
    if any(row.failed or row.bounced or row.deferred or row.held for row in figures):
        return table
    said = f"{pluralize(len(figures), 'domain')}, no failures"
    return Fold(said, table, "fold")


def why_cancelled(issue: Issue) -> Part:
    """Count the cancelled deliveries of an issue that was not cancelled, by reason."""
    if issue.cancelled_at is not None or not progress.counts(issue)["cancelled"]:
        return ""
    rows = issue.deliveries.filter(state=Delivery.State.CANCELLED).order_by()
    reasons = rows.values_list("last_error").annotate(number=Count("pk")).order_by("-number")
    return Table(("why", "emails"), reasons[:10], is_figures=True)


def trouble(issue: Issue) -> Part:
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
            Link(row, row.destination),
            row.get_state_display().lower(),
            server_words(row, attempts[row.pk], zone),
        )
        for row in rows
    ]
    figures = Table(("to", "state", "the server’s answer"), shown)
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
    return (figures, Text(listed(links)))


def server_words(row: Delivery, attempts: list[Attempt], zone: tzinfo) -> Part:
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
    return tuple(Text((f"{text} ", Text(f"({said})", "quiet")), "attempt") for text, said in lines)
