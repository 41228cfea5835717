"""The figures of an issue's page, and how long they are cached."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache

from delivery.issues import progress
from delivery.issues.progress import (
    bounced,
    chart,
    counts,
    counts_of,
    domain_figures,
    forget,
    in_state,
    issue_state,
    per_minute,
)
from delivery.models import Delivery, Issue
from delivery.rules.progress import STATES
from tests.delivery.ledger import HOUR, MINUTE, SECOND, queued
from tests.factories import NOW, BounceFactory, IssueFactory

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make two deliveries count as a large issue."""
    monkeypatch.setattr(progress, "LARGE", 2)


def test_the_counts_of_many_issues_are_asked_together(django_assert_num_queries: Any) -> None:
    issues = [IssueFactory() for _ in range(3)]
    queued(2, issue=issues[0], state="sent")
    queued(1, issue=issues[0])
    queued(1, issue=issues[1], state="failed")
    # One query is the look-up of cached figures.
    with django_assert_num_queries(2):
        found = counts_of(issue.pk for issue in issues)
    assert [dict(found[issue.pk]) for issue in issues] == [{"sent": 2, "queued": 1}, {"failed": 1}, {}]


def test_every_issue_is_found_by_the_state_that_it_shows() -> None:
    pages = {
        "draft": IssueFactory(published_at=None),
        "sending": IssueFactory(),
        "sent": IssueFactory(),
        "paused": IssueFactory(paused_at=NOW),
        "cancelled": IssueFactory(cancelled_at=NOW),
    }
    for issue in pages.values():
        if issue.published_at:
            queued(1, issue=issue, state="sent")
    queued(1, issue=pages["sending"])
    queued(1, issue=pages["paused"], state="held", held_for="pause")
    over = IssueFactory(paused_at=NOW)
    queued(1, issue=over, state="sent")
    by_newsletter = IssueFactory()
    queued(1, issue=by_newsletter)
    type(by_newsletter.subscribable).objects.filter(pk=by_newsletter.subscribable_id).update(
        sending_paused_at=NOW
    )
    for row in Issue.objects.select_related("subscribable"):
        shown = issue_state(row, counts(row))
        found = [wanted for wanted in STATES if in_state(Issue.objects.all(), wanted).filter(pk=row.pk)]
        assert found == [shown]
    for wanted, issue in pages.items():
        assert in_state(Issue.objects.all(), wanted).filter(pk=issue.pk).exists()


def test_the_rate_counts_what_arrived_within_the_last_minute() -> None:
    issue = IssueFactory()
    for back in (1, 30, 59, 60, 3600):
        queued(1, issue=issue, state="sent", sent_at=NOW - back * SECOND)
    queued(1, issue=issue, state="failed")
    assert per_minute(issue, now=NOW) == 3


def test_the_chart_counts_by_the_minute() -> None:
    issue = IssueFactory()
    for sent_at in (NOW, NOW + 5 * SECOND, NOW + 3 * MINUTE):
        queued(1, issue=issue, state="sent", sent_at=sent_at)
    queued(1, issue=issue)
    assert [(bar.start, bar.count) for bar in chart(issue)] == [
        (NOW, 2),
        (NOW + MINUTE, 0),
        (NOW + 2 * MINUTE, 0),
        (NOW + 3 * MINUTE, 1),
    ]


def test_the_domains_with_most_trouble_come_first() -> None:
    issue = IssueFactory()
    queued(9, issue=issue, state="sent", domain="large.example")
    queued(2, issue=issue, state="failed", domain="refuses.example")
    queued(1, issue=issue, state="deferred", domain="slow.example")
    queued(1, issue=issue, domain="slow.example")
    (row,) = queued(1, issue=issue, state="sent", domain="returns.example")
    for _ in range(3):
        BounceFactory(delivery=row, at=NOW + HOUR)
    queued(5, issue=IssueFactory(), state="failed", domain="other.example")
    shown = domain_figures(issue)
    assert [each.domain for each in shown] == [
        "returns.example",
        "refuses.example",
        "slow.example",
        "large.example",
    ]
    assert (shown[0].sent, shown[0].bounced) == (1, 3)
    assert (shown[2].deferred, shown[2].waiting, shown[2].held) == (1, 2, 0)
    assert bounced(issue) == {"hard": 3}


def test_a_domain_that_only_bounces_is_shown_among_many_large_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DOMAINS_SHOWN", 2)
    issue = IssueFactory()
    for name in ("one", "two", "three"):
        queued(3, issue=issue, state="sent", domain=f"{name}.example")
    (row,) = queued(1, issue=issue, state="sent", domain="small.example")
    BounceFactory(delivery=row, at=NOW)
    assert domain_figures(issue)[0].domain == "small.example"
    assert len(domain_figures(issue)) == 2


@pytest.mark.usefixtures("large")
def test_a_large_issue_that_is_being_sent_is_not_counted_at_every_look(
    django_assert_num_queries: Any,
) -> None:
    issue = IssueFactory()
    queued(3, issue=issue)
    assert counts(issue)["queued"] == 3
    Delivery.objects.update(state="sent", sent_at=NOW)
    with django_assert_num_queries(0):
        assert counts(issue)["queued"] == 3
    forget(issue.pk)
    assert counts(issue)["sent"] == 3


@pytest.mark.usefixtures("large")
def test_the_figures_of_a_finished_issue_are_computed_once_until_its_counts_change(
    django_assert_num_queries: Any,
) -> None:
    issue = IssueFactory()
    rows = queued(3, issue=issue, state="sent", sent_at=NOW)
    assert sum(bar.count for bar in chart(issue)) == 3
    with django_assert_num_queries(0):
        chart(issue)
    Delivery.objects.filter(pk=rows[0].pk).update(state="failed", sent_at=None)
    forget(issue.pk)
    assert sum(bar.count for bar in chart(issue)) == 2


def test_a_small_issue_is_counted_anew_each_time() -> None:
    issue = IssueFactory()
    queued(1, issue=issue)
    counts(issue)
    Delivery.objects.update(state="sent", sent_at=NOW + timedelta(days=1))
    assert counts(issue) == {"sent": 1}
    assert len(chart(issue)) == 1
