from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import Q

from common.access import visible_to
from common.admin.html import object_url, short_day, short_when, short_when_there
from common.parts import Bar, Chart, Part
from common.ports import channels
from common.text import pluralize
from delivery.issues.pause import is_paused
from delivery.issues.publish import waiting_for_a_reader
from delivery.models import Issue, IssueCard
from delivery.rules.progress import arrived, total, waiting
from feedletter_site.monitoring.figures import Figures, issue_counts, newest_issues
from subscriptions.branding.brands import NO_BRAND, USUAL_COLOUR, Brand, brands
from subscriptions.collections.readiness import collection_facts
from subscriptions.models import Assignable, Subscribable
from subscriptions.rules.completion import LATE, next_issue_time
from subscriptions.subscribers.counts import confirmed_counts

NEXT_SHOWN = 6
# Shown however many collections have a date.
FILLING_SHOWN = 2
CURVE_DAYS = 84


@dataclass(frozen=True, slots=True)
class Card:
    """An issue to come or sent: its newsletter's face, and values.

    `when` is the largest. `tone` is good, bad, wait or still.
    """

    title: str
    url: str
    newsletter: str
    picture: str
    colour: str
    when: str
    figure: str = ""
    tone: str = ""
    people: str = ""


def going_out_next(user: Any, now: datetime) -> list[Card]:
    """Sort by date, then newsletters that fill up, then the ones that wait for a first subscriber.

    One that fills up has a date, too, if it goes out after so many days with fewer posts.
    """
    own = visible_to(user, Assignable.objects.all(), "subscribable")
    soonest = own.filter(period_end__isnull=False).order_by("period_end", "pk")
    oldest = own.filter(period_end=None).order_by("opened_at", "pk")
    either = Q(pk__in=soonest.values("pk")[:NEXT_SHOWN]) | Q(pk__in=oldest.values("pk")[:NEXT_SHOWN])
    rows: Any = Assignable.objects.filter(either).select_related("subscribable")
    rows = rows.order_by("opened_at", "pk").counted()
    dates = {row: _date_of(row) for row in rows}
    dated = sorted((row for row in dates if dates[row]), key=lambda row: (dates[row], row.pk))
    filling = [row for row in dates if not dates[row]]
    dated = dated[: NEXT_SHOWN - min(len(filling), FILLING_SHOWN)]
    shown = [*dated, *filling[: NEXT_SHOWN - len(dated)]]
    waiting_ones = list(waiting_for_a_reader().select_related("subscribable").order_by("pk")[:NEXT_SHOWN])
    people = confirmed_counts(row.subscribable_id for row in shown)
    faces = faces_of([row.subscribable for row in (*shown, *waiting_ones)])
    return [
        *(_next_card(row, people[row.subscribable_id], faces, now) for row in shown),
        *(
            _card(issue, issue.subscribable, faces, when="After the first subscriber")
            for issue in waiting_ones
        ),
    ]


def _next_card(row: Any, people: int, faces: Mapping[int, Brand], now: datetime) -> Card:
    newsletter = row.subscribable
    facts = collection_facts(row, counts=(row.held, row.left_out))
    time = next_issue_time(facts, now)
    when = time if isinstance(time, str) else short_when_there(time, now=now, zone=newsletter.zone)
    if row.last_error:
        when = LATE
    is_public = channels.get(newsletter.channel).public_sign_up
    whom = pluralize(people, "person", "people") if people else "No subscribers yet"
    return _card(
        row,
        newsletter,
        faces,
        when=when,
        figure=pluralize(row.held, "post") if row.held else "No posts yet",
        people=whom if is_public else "",
        tone="bad" if when == LATE else "",
    )


def _card(obj: Any, newsletter: Subscribable, faces: Mapping[int, Brand], **values: str) -> Card:
    brand = faces[newsletter.pk]
    values = {"picture": brand.header_picture_url, "title": str(obj)} | values
    return Card(
        url=object_url(obj), newsletter=str(newsletter), colour=brand.accent or USUAL_COLOUR, **values
    )


def faces_of(newsletters: Sequence[Subscribable]) -> Mapping[int, Brand]:
    return {each.pk: NO_BRAND for each in newsletters} | brands(newsletters)


def _date_of(row: Any) -> datetime | None:
    """Return the latest date; the posts must be counted."""
    facts = collection_facts(row, counts=(row.held, row.left_out))
    return facts.period_end or (facts.wait_end if facts.count else None)


def last_issues(figures: Figures, now: datetime) -> list[Card]:
    issues = newest_issues()
    counts = issue_counts(issues, figures.issues)
    faces = faces_of([issue.subscribable for issue in issues])
    pictures = dict(IssueCard.objects.filter(issue__in=issues).values_list("issue", "picture"))
    cards = []
    for issue in issues:
        figure, tone = result_of(issue, counts[issue.pk])
        values = {"picture": picture} if (picture := pictures.get(issue.pk, "")) else {}
        when = short_when(issue.published_at or now, now=now)
        cards.append(_card(issue, issue.subscribable, faces, **values, when=when, figure=figure, tone=tone))
    return cards


def result_of(issue: Issue, counts: Counter[str]) -> tuple[str, str]:
    """Return one figure and its tone."""
    if issue.awaits_reader:
        return "In the archive", "still"
    sent, everybody = arrived(counts), total(counts)
    figure = f"{sent:,} of {everybody:,}"
    if is_paused(issue):
        return f"Paused: {figure}", "wait"
    if counts["failed"]:
        return figure, "bad"
    return figure, "good" if sent == everybody else "wait" if waiting(counts) + counts["held"] else "still"


def subscribers_chart(figures: Figures) -> Part:
    days = [figures.today - timedelta(days=back) for back in reversed(range(CURVE_DAYS))]
    numbers = at_the_end_of(days, figures)
    if not any(numbers):
        return ""
    gained = f"{numbers[-1] - numbers[0]:+,} in {len(days) // 7} weeks"
    points = [
        Bar(number, f"{day:%a} {short_day(day)}: {pluralize(number, 'subscription')}")
        for day, number in zip(days, numbers, strict=True)
    ]
    first, last = short_day(days[0]), short_day(days[-1])
    return Chart("Subscriptions", gained, points, first, last, is_line=True)


def at_the_end_of(days: Sequence[date], figures: Figures) -> list[int]:
    number, numbers = figures.subscribers, []
    came, gone = figures.growth.get("confirmed", {}), figures.growth.get("gone", {})
    for day in reversed(days):
        numbers.append(max(number, 0))
        number += gone.get(day, 0) - came.get(day, 0)
    return numbers[::-1]
