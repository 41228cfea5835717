from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import Q
from django.utils import timezone
from django.utils.safestring import SafeString

from common.admin.day_plot import DayValue, day_plot
from common.admin.html import list_url, object_url, when
from common.ports import channels
from common.text import pluralize
from common.zones import zone_words
from delivery.admin.issue_panels import state_words
from delivery.issues.pause import is_paused
from delivery.issues.progress import issue_state
from delivery.issues.publish import waiting_for_a_reader
from delivery.models import Delivery, Issue
from delivery.models.issue import SENT_HERE
from delivery.rules.progress import arrived, waiting
from feedletter_site.monitoring.figures import Figures, issue_counts, last_days, newest_issues
from feeds.models import Feed
from subscriptions.admin_words import waits_for
from subscriptions.collections.readiness import collection_facts
from subscriptions.models import Assignable
from subscriptions.rules.completion import next_issue_words
from subscriptions.subscribers.counts import confirmed_counts

NEXT_SHOWN = 8
# Shown however many collections have a date.
FILLING_SHOWN = 4
CURVE_DAYS = 84
# Issues are sent within a minute; later their delay is explained.
SOON = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class NextOut:
    """`words` follow the newsletter's name."""

    name: str
    url: str
    words: str


@dataclass(frozen=True, slots=True)
class LastOut:
    """`parts` are figures with tone and link."""

    title: str
    url: str
    newsletter: str
    at: str
    state: str
    parts: tuple[tuple[str, str, str], ...]


def going_out_next(now: datetime) -> list[NextOut]:
    """Sort by date, then newsletters that fill up, then the ones that wait for a first subscriber.

    One that fills up has a date, too, if it goes out after so many days with fewer posts.
    """
    soonest = Assignable.objects.filter(period_end__isnull=False).order_by("period_end", "pk")
    oldest = Assignable.objects.filter(period_end=None).order_by("opened_at", "pk")
    either = Q(pk__in=soonest.values("pk")[:NEXT_SHOWN]) | Q(pk__in=oldest.values("pk")[:NEXT_SHOWN])
    rows: Any = Assignable.objects.filter(either).select_related("subscribable")
    rows = rows.order_by("opened_at", "pk").counted()
    dates = {row: _date_of(row) for row in rows}
    dated = sorted((row for row in dates if dates[row]), key=lambda row: (dates[row], row.pk))
    filling = [row for row in dates if not dates[row]]
    dated = dated[: NEXT_SHOWN - min(len(filling), FILLING_SHOWN)]
    shown = [*dated, *filling[: NEXT_SHOWN - len(dated)]]
    people = confirmed_counts(row.subscribable_id for row in shown)
    return [
        NextOut(str(row.subscribable), object_url(row), _next_words(row, people[row.subscribable_id], now))
        for row in shown
    ] + [
        NextOut(str(issue.subscribable), object_url(issue), "waits for its first subscriber.")
        for issue in waiting_for_a_reader().select_related("subscribable").order_by("pk")[:NEXT_SHOWN]
    ]


def _next_words(row: Any, people: int, now: datetime) -> str:
    if row.last_error or (row.period_end is not None and row.period_end < now - SOON):
        return f"is late. {waits_for(row)}"
    zone = row.subscribable.zone
    is_public = channels.get(row.subscribable.channel).public_sign_up
    words = next_issue_words(
        collection_facts(row, counts=(row.held, row.left_out)),
        people=people if is_public else None,
        is_reviewed=row.waits,
        now=now,
        zone=zone,
    )
    is_elsewhere = now.astimezone(zone).utcoffset() != timezone.localtime(now).utcoffset()
    return f"{words.rstrip('.')} ({zone_words(zone)})." if is_elsewhere and " at " in words else words


def _date_of(row: Any) -> datetime | None:
    """Return the latest date; the posts must be counted."""
    facts = collection_facts(row, counts=(row.held, row.left_out))
    return facts.period_end or (facts.wait_end if facts.count else None)


def last_issues(figures: Figures) -> list[LastOut]:
    issues = newest_issues()
    counts = issue_counts(issues, figures.issues)
    return [_last_out(issue, counts[issue.pk]) for issue in issues]


def _last_out(issue: Issue, counts: Counter[str]) -> LastOut:
    left = waiting(counts) + counts["held"]
    shown = (
        ("sent", arrived(counts), "good", {"state__in": "sent,stored"}),
        ("failed", counts["failed"], "bad", {"state__exact": "failed"}),
        ("held" if is_paused(issue) else "left", left, "wait", {"state__in": "queued,deferred,sending,held"}),
        ("cancelled", counts["cancelled"], "still", {"state__exact": "cancelled"}),
    )
    parts = tuple(
        (f"{count:,} {word}", tone, list_url(Delivery, issue__id__exact=issue.pk, **filters))
        for word, count, tone, filters in shown
        if count or word == "sent"
    )
    state = issue_state(issue, counts)
    return LastOut(
        issue.title,
        object_url(issue),
        str(issue.subscribable),
        when(issue.published_at),
        "" if state == "sent" and not issue.awaits_reader else state_words(issue, state),
        () if issue.awaits_reader else parts,
    )


def changes(figures: Figures, now: datetime) -> list[str]:
    """Describe changes since the start of yesterday in the admin's zone."""
    two_days = last_days(figures.today, 2)

    def sum_of(name: str) -> int:
        return sum(figures.growth.get(name, {}).get(day, 0) for day in two_days)

    letters = sum(figures.letters.get(day, 0) for day in two_days)
    lately = {"published_at__gte": now - timedelta(days=1), "published_at__lte": now}
    issues = Issue.objects.filter(SENT_HERE, **lately).count()
    ill = Feed.objects.filter(status="active", failing_since__gte=now - timedelta(days=1)).count()
    figures_and_words = (
        (sum_of("confirmed"), f"{pluralize(sum_of('confirmed'), 'new subscriber')}"),
        (sum_of("left"), f"{sum_of('left'):,} unsubscribed"),
        (sum_of("bounced"), f"{sum_of('bounced'):,} bounced or complained"),
        (letters, f"{pluralize(letters, 'email')} delivered"),
        (issues, f"{pluralize(issues, 'issue')} sent"),
        (ill, f"{pluralize(ill, 'feed')} started to fail"),
    )
    return [words for count, words in figures_and_words if count]


def letters_plot(figures: Figures) -> SafeString | str:
    values = [DayValue(day, figures.letters.get(day, 0)) for day in last_days(figures.today)]
    whole = sum(each.value for each in values)
    if not whole:
        return ""
    most = max(values, key=lambda each: each.value)
    description = f"{pluralize(whole, 'email')} in {len(values)} days, at most {most.value:,} in one."
    return day_plot(values, name="fl-letters-a-day", title="Emails a day", said=description, word="email")


def subscribers_plot(figures: Figures) -> SafeString | str:
    days = last_days(figures.today, CURVE_DAYS)
    numbers = at_the_end_of(days, figures)
    if not any(numbers):
        return ""
    gained = numbers[-1] - numbers[0]
    description = (
        f"{pluralize(figures.subscribers, 'subscription')} now, {gained:+,} in {len(days) // 7} weeks."
    )
    values = [DayValue(day, number) for day, number in zip(days, numbers, strict=True)]
    return day_plot(
        values, name="fl-curve", title="Subscriptions", said=description, word="subscription", is_line=True
    )


def at_the_end_of(days: Sequence[date], figures: Figures) -> list[int]:
    number, numbers = figures.subscribers, []
    came, gone = figures.growth.get("confirmed", {}), figures.growth.get("gone", {})
    for day in reversed(days):
        numbers.append(max(number, 0))
        number += gone.get(day, 0) - came.get(day, 0)
    return numbers[::-1]
