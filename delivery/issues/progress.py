"""Figures of issues, from a few aggregate queries; large issues' are cached.

A finished issue's are cached until its counts change, others for ten times as long as the query took.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.core.cache import cache
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import TruncMinute

from common.ports.registries import LARGE, kept_figures
from delivery.issues.pause import is_paused
from delivery.issues.publish import LATE_KEY
from delivery.models import Bounce, Delivery, Issue
from delivery.models.delivery import NOT_FINISHED, PENDING_STATES
from delivery.models.issue import SENT_HERE
from delivery.rules.audience import SERIES
from delivery.rules.progress import ARRIVED, ISSUE_FIGURE, SentStretch, state_of, stretches, total, waiting
from subscriptions.models import Subscribable
from subscriptions.subscribers.counts import large_newsletters

T = TypeVar("T")

DOMAINS_SHOWN = 20
# Stored counts of large newsletters' NEWEST issues.
NEWEST = 12
# States that a retry of a finished issue changes.
CHANGING = ("failed", *NOT_FINISHED)


@dataclass(frozen=True, slots=True)
class DomainFigures:
    """Letters to one recipient domain. `waiting` includes `deferred`."""

    domain: str
    sent: int = 0
    deferred: int = 0
    failed: int = 0
    bounced: int = 0
    waiting: int = 0
    held: int = 0

    @property
    def trouble(self) -> int:
        return self.deferred + self.failed + self.bounced


def counts_of(issue_ids: Iterable[int]) -> dict[int, Counter[str]]:
    """Return each issue's deliveries by state. One query for all that are not cached.

    Large finished issues may lack late subscribers for some minutes.
    """
    pks = list(issue_ids)
    known: dict[int, Counter[str]] = {
        pk: found for pk in pks if (found := cache.get(_key(pk, "counts"))) is not None
    }
    known |= _kept_counts([pk for pk in pks if pk not in known])
    unknown = [pk for pk in pks if pk not in known]
    if not unknown:
        return known
    begun = time.monotonic()
    found = {pk: Counter[str]() for pk in unknown}
    # "*" needs only the index, which has no primary key.
    rows = Delivery.objects.filter(issue__in=unknown).order_by().values_list("issue", "state")
    for pk, issue_state, count in rows.annotate(n=Count("*")):
        found[pk][issue_state] = count
    for pk, counts in found.items():
        if total(counts) >= LARGE:
            cache.set(_key(pk, "counts"), counts, _keep_for(time.monotonic() - begun))
    return {**known, **found}


def _kept_counts(issue_ids: list[int]) -> dict[int, Counter[str]]:
    """Return stored counts that are true: as many failures, nothing pending."""
    kept = {pk: Counter[str](row["counts"]) for pk, row in kept_figures(ISSUE_FIGURE, issue_ids).items()}
    changing = {pk: Counter[str]() for pk in kept}
    rows = Delivery.objects.filter(issue__in=kept, state__in=CHANGING).order_by()
    for pk, state, count in rows.values_list("issue", "state").annotate(n=Count("*")) if kept else ():
        changing[pk][state] = count
    return {
        pk: found
        for pk, found in kept.items()
        if changing[pk] == Counter({state: found[state] for state in CHANGING if found[state]})
    }


def count_large_issues() -> dict[int, dict[str, Any]]:
    """Count finished issues, and what their pages show where that changed."""
    issues: dict[int, Issue] = {}
    for newsletter in large_newsletters():
        out = newsletter.issues.filter(SENT_HERE, published_at__isnull=False).order_by("-published_at", "-pk")
        issues |= {issue.pk: issue for issue in out.defer("html", "text", "placeholders")[:NEWEST]}
    found: dict[int, dict[str, int]] = {}
    rows = Delivery.objects.filter(issue__in=issues).order_by().values_list("issue", "state")
    for pk, state, count in rows.annotate(n=Count("*")):
        found.setdefault(pk, {})[state] = count
    finished = {
        pk: states
        for pk, states in found.items()
        if total(states) >= LARGE and not any(states.get(state) for state in NOT_FINISHED)
    }
    kept = kept_figures(ISSUE_FIGURE, finished)
    return {pk: _page_figures(issues[pk], states, kept.get(pk)) for pk, states in finished.items()}


def _page_figures(issue: Issue, states: dict[str, int], kept: Mapping[str, Any] | None) -> dict[str, Any]:
    changing = {"counts": states, "bounces": issue_bounces(issue).count()}
    if kept and {name: kept[name] for name in changing} == changing:
        return dict(kept)
    return changing | {name: ask(issue) for name, ask in LIVE_PARTS.items()}


def newest_of_each(newsletters: Iterable[int]) -> list[Issue]:
    """Return each newsletter's latest issue that was sent here, without its letter.

    Emails of a series are no issues of the newsletter.
    """
    here = SENT_HERE & ~Q(audience__has_key=SERIES)
    out = Issue.objects.filter(here, subscribable=OuterRef("pk"), published_at__isnull=False)
    newest = Subquery(out.order_by("-published_at", "-pk").values("pk")[:1])
    rows = Subscribable.objects.filter(pk__in=list(newsletters)).order_by().values_list(newest)
    return list(Issue.objects.filter(pk__in=rows).defer("html", "text", "placeholders"))


def counts(issue: Issue) -> Counter[str]:
    """Return the counts, or the ones that `count_for_page` stored."""
    found: Counter[str] | None = getattr(issue, "counts", None)
    return counts_of([issue.pk])[issue.pk] if found is None else found


def count_for_page(issue: Any) -> None:
    """Count once for a page that only shows the issue, and asks in many places."""
    issue.counts = counts_of([issue.pk])[issue.pk]


def issue_state(issue: Issue, counted: Counter[str]) -> str:
    """Return the issue's state. Needs the newsletter selected."""
    return state_of(
        counted,
        published=issue.published_at is not None,
        cancelled=issue.cancelled_at is not None,
        paused=is_paused(issue),
        awaits_reader=issue.awaits_reader,
        imported=issue.issue_import_id is not None,
    )


def in_state(issues: "QuerySet[Issue]", wanted: str) -> "QuerySet[Issue]":
    """Filter by a state of `issue_state`."""
    if wanted == "imported":
        return issues.filter(issue_import__isnull=False)
    issues = issues.filter(SENT_HERE)
    if wanted == "cancelled":
        return issues.filter(cancelled_at__isnull=False)
    issues = issues.filter(cancelled_at=None)
    if wanted in ("draft", "waiting"):
        return issues.filter(published_at=None, awaits_reader=wanted == "waiting")
    issues = issues.filter(published_at__isnull=False)
    flagged = Q(paused_at__isnull=False) | Q(subscribable__sending_paused_at__isnull=False)
    paused = flagged & _has(NOT_FINISHED)
    if wanted == "paused":
        return issues.filter(paused)
    unfinished = _has(PENDING_STATES)
    return issues.filter(unfinished if wanted == "sending" else ~unfinished).exclude(paused)


def _has(states: Iterable[str]) -> Q:
    return Q(Exists(Delivery.objects.filter(issue=OuterRef("pk"), state__in=list(states))))


def per_minute(issue: Issue, *, now: datetime) -> int:
    lately = issue.deliveries.filter(state__in=ARRIVED, sent_at__gt=now - timedelta(minutes=1))
    return _kept(issue, "rate", lambda: lately.count(), is_lively=True)


def chart(issue: Issue) -> list[SentStretch]:
    """Return letters per minute or longer stretch, in order."""
    bars = _kept(issue, "chart", lambda: _bars(issue))
    return [SentStretch(datetime.fromisoformat(start), minutes, count) for start, minutes, count in bars]


def _bars(issue: Issue) -> list[tuple[str, int, int]]:
    rows = issue.deliveries.filter(state__in=ARRIVED, sent_at__isnull=False).order_by()
    minutes = sorted(rows.values_list(TruncMinute("sent_at")).annotate(Count("pk")))
    return [(bar.start.isoformat(), bar.minutes, bar.count) for bar in stretches(minutes)]


def domain_figures(issue: Issue) -> list[DomainFigures]:
    """Return the twenty domains with most trouble, then most letters."""
    return sorted(
        (DomainFigures(**row) for row in _kept(issue, "domains", lambda: _domains(issue))),
        key=lambda row: (-row.trouble, -row.sent - row.waiting, row.domain),
    )[:DOMAINS_SHOWN]


def _domains(issue: Issue) -> list[dict[str, Any]]:
    back = issue_bounces(issue).values_list("delivery__domain").annotate(n=Count("pk")).order_by("-n")
    came_back = dict(back[:DOMAINS_SHOWN])
    groups = {
        "sent": ARRIVED,
        "deferred": ("deferred",),
        "failed": ("failed",),
        "waiting": PENDING_STATES,
        "held": ("held",),
        "trouble": ("deferred", "failed"),
    }
    sums = {name: Count("pk", filter=Q(state__in=states)) for name, states in groups.items()}
    named: Any = issue.deliveries.exclude(domain="").order_by().values("domain")
    rows = named.annotate(**sums, all=Count("pk"))
    worst = list(rows.order_by("-trouble", "-all", "domain")[:DOMAINS_SHOWN])
    there = {row["domain"] for row in worst}
    if missing := [domain for domain in came_back if domain not in there]:
        worst += rows.filter(domain__in=missing)
    figures = ("domain", "sent", "deferred", "failed", "waiting", "held")
    return [
        {name: row[name] for name in figures} | {"bounced": came_back.get(row["domain"], 0)} for row in worst
    ]


def issue_bounces(issue: Issue) -> "QuerySet[Bounce]":
    rows = Bounce.objects.filter(delivery__issue=issue.pk).order_by()
    return rows.filter(at__gte=issue.published_at) if issue.published_at else rows


def bounced(issue: Issue) -> Counter[str]:
    return Counter(dict(issue_bounces(issue).values_list("kind").annotate(Count("pk"))))


def sent_late(issue: Issue) -> int:
    return _kept(issue, "late", lambda: _late(issue))


def _late(issue: Issue) -> int:
    return issue.deliveries.filter(key=LATE_KEY).count()


# Of finished large issues, workers store them; values are JSON.
LIVE_PARTS: Mapping[str, Callable[[Issue], Any]] = {"chart": _bars, "domains": _domains, "late": _late}


def forget(issue_id: int) -> None:
    """Clear cached counts, so that an admin's change shows at once."""
    cache.delete(_key(issue_id, "counts"))


def _kept(issue: Issue, name: str, ask: Callable[[], T], *, is_lively: bool = False) -> T:
    """Cache the answer for large issues; for finished ones until the counts change."""
    counted = counts(issue)
    if total(counted) < LARGE:
        return ask()
    is_over = not waiting(counted) and not is_lively
    key = _key(issue.pk, name, tuple(sorted(counted.items())) if is_over else ())
    found: T | None = cache.get(key)
    if found is not None:
        return found
    stored = kept_figures(ISSUE_FIGURE, [issue.pk]).get(issue.pk) if is_over else None
    if stored and stored["counts"] == dict(counted):
        kept: T = stored[name]
        return kept
    begun = time.monotonic()
    answer = ask()
    cache.set(key, answer, 86_400 if is_over else _keep_for(time.monotonic() - begun))
    return answer


def _keep_for(took: float) -> int:
    """Return 2 to 60 seconds: repeated queries use at most a tenth of the database's time."""
    return round(min(max(took * 10, 2), 60))


def _key(issue_id: int, name: str, counted: tuple[tuple[str, int], ...] = ()) -> str:
    said = "-".join(f"{issue_state}{count}" for issue_state, count in counted)
    return f"issue:{issue_id}:{name}:{said}"
