"""Figures of large newsletters: workers count them, pages show them, and never after they expire."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext

from common.clock import utcnow
from delivery.bounces.history import counted_of, growth_of
from delivery.issues import progress
from delivery.models import Delivery
from feedletter_site.models import Figure
from feedletter_site.monitoring.figures import TOO_OLD, count_again
from subscriptions.subscribers import counts
from tests.factories import (
    BounceFactory,
    DeliveryFactory,
    IssueFactory,
    SubscribableFactory,
    SubscriptionFactory,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "LARGE", 2)
    monkeypatch.setattr(progress, "LARGE", 2)


def test_only_large_newsletters_are_kept() -> None:
    large, small = SubscribableFactory(), SubscribableFactory()
    SubscriptionFactory.create_batch(3, subscribable=large)
    SubscriptionFactory(subscribable=small)
    count_again()
    SubscriptionFactory(subscribable=large)
    SubscriptionFactory(subscribable=small)
    assert counts.confirmed_counts([large.pk, small.pk]) == {large.pk: 3, small.pk: 2}
    assert counts.reader_counts(large)["by_status"] == {"confirmed": 3}
    assert (counts.reachable_count(large), counts.reachable_count(small)) == (3, 2)


def test_what_is_too_old_or_no_longer_large_is_not_shown() -> None:
    large = SubscribableFactory()
    rows = SubscriptionFactory.create_batch(3, subscribable=large)
    count_again()
    Figure.objects.update(counted_at=utcnow() - 2 * TOO_OLD)
    SubscriptionFactory(subscribable=large)
    assert counts.confirmed_counts([large.pk]) == {large.pk: 4}
    for row in rows:
        row.delete()
    count_again()
    assert not Figure.objects.filter(name__startswith="readers:").exists()


def test_growth_is_kept_as_it_was_counted() -> None:
    large = SubscribableFactory()
    SubscriptionFactory.create_batch(3, subscribable=large)
    today = utcnow().date()
    expected = counted_of(large, today)
    count_again()
    SubscriptionFactory(subscribable=large)
    assert growth_of(large, today) == expected != counted_of(large, today)


def test_the_counts_of_an_issue_are_kept_once_it_is_over_until_something_is_tried_again() -> None:
    large = SubscribableFactory()
    SubscriptionFactory.create_batch(3, subscribable=large)
    issue = IssueFactory(subscribable=large, published_at=utcnow() - timedelta(days=1))
    DeliveryFactory.create_batch(2, issue=issue, state="sent")
    last = DeliveryFactory(issue=issue, state="queued")
    count_again()
    assert not Figure.objects.filter(name__startswith="issue page:").exists()
    Delivery.objects.filter(pk=last.pk).update(state="failed")
    count_again()
    figure = Figure.objects.get(name=f"issue page:{issue.pk}")
    assert figure.value["counts"] == {"sent": 2, "failed": 1}
    figure.value["counts"] = {"sent": 7, "failed": 1}
    figure.save()
    progress.forget(issue.pk)
    assert progress.counts(issue) == {"sent": 7, "failed": 1}
    Delivery.objects.filter(pk=last.pk).update(state="queued")
    progress.forget(issue.pk)
    assert progress.counts(issue) == {"sent": 2, "queued": 1}


def test_what_the_page_of_a_finished_issue_shows_is_kept_until_counts_or_bounces_change(
    django_assert_num_queries: Any,
) -> None:
    large = SubscribableFactory()
    SubscriptionFactory.create_batch(3, subscribable=large)
    sent_at = utcnow() - timedelta(hours=23)
    issue = IssueFactory(subscribable=large, published_at=sent_at)
    rows = DeliveryFactory.create_batch(3, issue=issue, state="sent", sent_at=sent_at, domain="one.example")
    counted = (progress.chart(issue), progress.domain_figures(issue), progress.sent_late(issue))
    count_again()
    cache.clear()
    progress.count_for_page(issue)
    with django_assert_num_queries(3):
        assert (progress.chart(issue), progress.domain_figures(issue), progress.sent_late(issue)) == counted
    with CaptureQueriesContext(connection) as queries:
        count_again()
    assert not any("DATE_TRUNC" in query["sql"].upper() for query in queries)
    BounceFactory(delivery=rows[0], at=utcnow())
    count_again()
    cache.clear()
    assert [row.bounced for row in progress.domain_figures(issue)] == [1]


def test_the_languages_of_very_many_are_kept() -> None:
    SubscriptionFactory.create_batch(3, language="de")
    count_again()
    SubscriptionFactory(language="fr")
    assert counts.subscriber_languages() == ["de"]
    Figure.objects.all().delete()
    assert counts.subscriber_languages() == ["de", "fr"]
