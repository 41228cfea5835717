"""Metrics and cached figures.

Figures of large newsletters: workers count them, pages show them, and never after they expire.
"""

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from prometheus_client.samples import Sample
from pytest_django import Settings

from common.clock import utcnow
from delivery.bounces.list_growth import counted_of, growth_of
from delivery.issues import progress
from delivery.models import Delivery
from feedletter_site.models import Figure
from feedletter_site.monitoring.figures import TOO_OLD, count_again
from feedletter_site.monitoring.metrics import COUNTED_EVENTS, GAUGES, Ledger
from feedletter_site.monitoring.vitals import write_stages
from subscriptions.subscribers import counts
from tests.factories import (
    NOW,
    AssignableFactory,
    BounceFactory,
    DeliveryFactory,
    FeedFactory,
    IssueFactory,
    LaneFactory,
    SubscribableFactory,
    SubscriptionFactory,
)

pytestmark = pytest.mark.django_db
LOCAL = {"REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "127.0.0.1:8000"}
ROOT = Path(__file__).parents[3]
ALERTS = ROOT / "docs" / "examples" / "prometheus-alerts.yml"
DASHBOARD = json.loads((ROOT / "docs" / "examples" / "grafana-dashboard.json").read_text(encoding="utf-8"))
SUFFIX = {"counter": "_total", "info": "_info"}


def value(name: str, **labels: str) -> float | None:
    """Return one sample of a scrape at NOW."""
    for family in Ledger(NOW).collect():
        for sample in family.samples:
            if sample.name == f"feedletter_{name}" and sample.labels == labels:
                return float(sample.value)
    return None


def test_deliveries_are_counted_by_state_and_states_without_any_are_zero() -> None:
    DeliveryFactory.create_batch(2)
    DeliveryFactory(state="failed")
    assert value("deliveries", state="queued") == 2
    assert value("deliveries", state="failed") == 1
    assert value("deliveries", state="sent") == 0


def test_the_age_of_the_oldest_due_delivery_counts_only_what_is_due() -> None:
    assert value("oldest_due_seconds", channel="email") is None
    DeliveryFactory(due_at=NOW + timedelta(hours=1))
    DeliveryFactory(state="sent", due_at=NOW - timedelta(days=1))
    assert value("oldest_due_seconds", channel="email") == 0
    DeliveryFactory(state="deferred", due_at=NOW - timedelta(seconds=90))
    assert value("oldest_due_seconds", channel="email") == 90


def test_an_active_feed_with_failures_counts_as_failing_and_one_with_a_flood_as_held() -> None:
    FeedFactory()
    FeedFactory(failures=3, held_since=NOW)
    FeedFactory(status="paused", failures=3)
    FeedFactory.create_batch(2, held_since=NOW)
    healths = ("active", "failing", "paused", "held")
    assert {health: value("feeds", health=health) for health in healths} == {
        "active": 1,
        "failing": 1,
        "paused": 1,
        "held": 2,
    }


def test_open_collections_and_paused_lanes_are_counted() -> None:
    AssignableFactory()
    LaneFactory(paused=True)
    assert (value("open_collections"), value("paused_lanes")) == (1, 1)


def test_this_machine_may_read(client: Client) -> None:
    answer = client.get("/metrics", **LOCAL)  # type: ignore[arg-type]
    assert answer.status_code == 200
    assert b"feedletter_deliveries" in answer.content


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"REMOTE_ADDR": "192.0.2.1"},
        {**LOCAL, "HTTP_X_FORWARDED_FOR": "203.0.113.9"},
        {**LOCAL, "HTTP_X_FORWARDED_FOR": ""},
        {**LOCAL, "HTTP_VIA": "1.1 proxy"},
        {"HTTP_HOST": "letters.example.org"},
        {"HTTP_X_REAL_IP": "192.0.2.1"},
        {"HTTP_AUTHORIZATION": "Bearer wrong", "REMOTE_ADDR": "192.0.2.1"},
        {"HTTP_AUTHORIZATION": "Bearer ", "REMOTE_ADDR": "192.0.2.1"},
    ],
)
def test_nobody_else_may_read(client: Client, settings: Settings, elsewhere: dict[str, str]) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    assert client.get("/metrics", **{**LOCAL, **elsewhere}).status_code == 403  # type: ignore[arg-type]


def test_a_scraper_elsewhere_may_read_with_the_token(client: Client, settings: Settings) -> None:
    settings.METRICS_TOKEN = "long-and-secret"
    headers = {"REMOTE_ADDR": "192.0.2.1", "HTTP_AUTHORIZATION": "Bearer long-and-secret"}
    assert client.get("/metrics", **headers).status_code == 200  # type: ignore[arg-type]


def test_now_is_the_moment_of_the_scrape(client: Client) -> None:
    DeliveryFactory(due_at=utcnow() - timedelta(hours=1))
    lines = client.get("/metrics", **LOCAL).content.decode().splitlines()  # type: ignore[arg-type]
    late = next(line for line in lines if line.startswith("feedletter_oldest_due_seconds{"))
    assert 3600 <= float(late.split()[-1]) < 3700


def panels() -> list[Any]:
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def expressions() -> list[str]:
    """Return the dashboard's queries, with the usual job."""
    targets = [target for panel in panels() for target in panel["targets"]]
    return [target["expr"].replace("$job", "feedletter") for target in targets]


def shown() -> set[str]:
    """Return the names of all metrics, as a scrape spells them."""
    write_stages("ticked_at", {"feeds.poll": NOW})
    return {
        sample.name if sample.name.endswith(("_total", "_info")) else family.name
        for family in Ledger(NOW).collect()
        for sample in [*family.samples, Sample(f"{family.name}{SUFFIX.get(family.type, '')}", {}, 0)]
    }


@pytest.mark.needs("reader")
def test_every_declared_metric_is_shown() -> None:
    totals = {f"feedletter_{name}_total" for name in COUNTED_EVENTS}
    assert {f"feedletter_{name}" for name in GAUGES} | totals | {"feedletter_info"} <= shown()


def test_the_example_of_alert_rules_asks_for_metrics_that_there_are() -> None:
    rules = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"][0]["rules"]
    asked = {name for rule in rules for name in re.findall(r"feedletter_\w+", rule["expr"])}
    assert len(rules) > 8
    assert asked <= shown()


@pytest.mark.needs("reader")
def test_the_dashboard_shows_every_metric_by_its_label() -> None:
    used = {name for expr in expressions() for name in re.findall(r"feedletter_\w+", expr)}
    # The lanes by state include it.
    assert used | {"feedletter_paused_lanes"} == shown()
    labels = {f"feedletter_{name}": label for name, (_, label) in GAUGES.items()}
    labels |= {f"feedletter_{name}_total": label for name, (_, label) in COUNTED_EVENTS.items()}
    labels["feedletter_info"] = "version"
    for expr in expressions():
        names = re.findall(r"feedletter_\w+", expr)
        groups = re.findall(r"by \((\w+)\)", expr) + re.findall(r", (\w+)(?:=|!=)", expr)
        assert {(name, label) for name in names for label in groups} <= labels.items(), expr


def test_the_panels_of_the_dashboard_do_not_overlap() -> None:
    places = [panel["gridPos"] for panel in DASHBOARD["panels"]]
    cells = [
        (x, y)
        for place in places
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) == 23
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(places)


def test_lanes_are_counted_by_what_they_do() -> None:
    LaneFactory(account="a")
    LaneFactory(account="b", paused=True, failures=2)
    LaneFactory(account="c", failures=3, free_at=NOW + timedelta(minutes=5))
    LaneFactory(account="d", free_at=NOW + timedelta(minutes=5))
    states = ("sending", "paused", "failing", "resting")
    assert [value("lanes", state=state) for state in states] == [1, 1, 1, 1]


@pytest.fixture
def _small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "LARGE", 2)
    monkeypatch.setattr(progress, "LARGE", 2)


@pytest.mark.usefixtures("_small_is_large")
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


@pytest.mark.usefixtures("_small_is_large")
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


@pytest.mark.usefixtures("_small_is_large")
def test_growth_is_kept_as_it_was_counted() -> None:
    large = SubscribableFactory()
    SubscriptionFactory.create_batch(3, subscribable=large)
    today = utcnow().date()
    expected = counted_of(large, today)
    count_again()
    SubscriptionFactory(subscribable=large)
    assert growth_of(large, today) == expected != counted_of(large, today)


@pytest.mark.usefixtures("_small_is_large")
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


@pytest.mark.usefixtures("_small_is_large")
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


@pytest.mark.usefixtures("_small_is_large")
def test_the_languages_of_very_many_are_kept() -> None:
    SubscriptionFactory.create_batch(3, language="de")
    count_again()
    SubscriptionFactory(language="fr")
    assert counts.subscriber_languages() == ["de"]
    Figure.objects.all().delete()
    assert counts.subscriber_languages() == ["de", "fr"]
