import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.test import Client
from prometheus_client.samples import Sample
from pytest_django import Settings

from common.clock import utcnow
from feedletter_site.monitoring.metrics import COUNTED_EVENTS, GAUGES, Ledger
from feedletter_site.monitoring.vitals import write_stages
from tests.factories import NOW, AssignableFactory, DeliveryFactory, FeedFactory, LaneFactory

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
