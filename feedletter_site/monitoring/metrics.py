"""Prometheus metrics, equal in all web processes."""

import time
from collections.abc import Iterator
from datetime import datetime
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.db.models import Case, Count, Min, Q, QuerySet, Value, When
from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from common.clock import behind, utcnow
from common.db.bulk import EXACT
from common.optional_apps import is_on
from delivery.models import Delivery, Lane
from feedletter_site.middleware import CAME_FORWARDED
from feedletter_site.models import Counted
from feedletter_site.monitoring.feed_health import FAILING, HELD
from feedletter_site.monitoring.figures import seldom
from feedletter_site.monitoring.stages import stage_statuses
from feeds.models import Feed, Item
from feeds.models.feed import HEALTH
from reader.models import Entry, Reader
from subscriptions.models import Assignable, Subscription

COUNT_NOTE = f"Above {EXACT:,}, numbers of finished ones are estimates of PostgreSQL."
# Help text and label, here and below.
GAUGES = {
    "deliveries": (f"Deliveries by state. {COUNT_NOTE}", "state"),
    "oldest_due_seconds": ("Age of the oldest due delivery, including paused ones.", "channel"),
    "lanes": ("Mail accounts and services: sending, resting (at a limit), failing or paused.", "state"),
    "paused_lanes": ("Mail accounts and services that are paused.", ""),
    "feeds": ("Feeds: active, failing, held, paused or stopped.", "health"),
    "items": (f"Posts by state. {COUNT_NOTE}", "state"),
    "subscriptions": ("Subscriptions by status.", "status"),
    "open_collections": ("Next issues.", ""),
    "failing_collections": ("Next issues that can’t be made.", ""),
    "readers": ("People who read feeds here.", ""),
    "unplaced_posts": ("Posts that aren’t in the channels of the people who follow their feeds yet.", ""),
    "stage_last_run_seconds": ("Time since any worker finished a pass of the stage.", "stage"),
    "stage_interval_seconds": ("How often the stage should run.", "stage"),
    "stage_oldest_due_seconds": ("Age of the stage’s oldest due work.", "stage"),
    "beat_last_tick_seconds": ("Time since beat’s last tick.", ""),
    "database_seconds": ("Time of a minimal query.", ""),
    "clock_behind_seconds": ("How far this machine’s clock is behind the database’s.", ""),
}
# Counters of `common.counters`.
COUNTED_EVENTS = {
    "issues": ("Issues published.", "channel"),
    "attempts": ("Failed attempts to send.", "outcome"),
    "leases_reaped": ("Deliveries taken over from workers that died.", "channel"),
    "bounces": ("Bounces and complaints.", "kind"),
    "webhook_calls": ("Calls of webhooks.", "outcome"),
    "polls": ("Feeds read.", "outcome"),
    "pictures": ("Pictures shown to readers: kept, fetched, none or busy (too many at once).", "outcome"),
    "streams": ("Event streams of readers: opened, ended or refused (at the limit).", "event"),
    "workers": ("Workers that began, or ended normally.", "event"),
    "trouble": (
        "Outages and jumps of clocks: broker_away, redis_away, database_away, database_silent, "
        "no_ticks, stood_still, clock_wrong, clock_moved or last_run_in_the_future.",
        "kind",
    ),
}
INFO = ("Release of Feedletter.", "version")
# The client may be remote even if the last hop is local.
FORWARDED = ("X-Real-IP", "Forwarded", "Via")


class Ledger(Collector):
    def __init__(self, now: datetime) -> None:
        self.now = now

    def collect(self) -> Iterator[Metric]:
        states = dict.fromkeys(Delivery.State.values, 0) | Delivery.objects.all().counts()
        yield gauge_by("deliveries", states)
        yield gauge_by("oldest_due_seconds", self.lateness())
        yield gauge_by("feeds", seldom("feeds", feeds_by_health))
        yield gauge_by("items", Item.objects.all().counts())
        people = seldom("subscriptions", lambda: counts_by(Subscription.objects.all(), "status"))
        yield gauge_by("subscriptions", people)
        yield gauge("open_collections", Assignable.objects.count())
        lanes = lanes_by_state(self.now)
        yield gauge_by("lanes", lanes)
        yield gauge("paused_lanes", lanes["paused"])
        if is_on("reader"):
            yield from self.reading()
        yield from self.stages()
        yield from counted_events()
        yield from database_metrics()

    def reading(self) -> Iterator[GaugeMetricFamily]:
        yield gauge("unplaced_posts", Entry.objects.due(self.now).count())
        yield gauge("readers", Reader.objects.filter(leaving_at=None, user__is_active=True).count())

    def stages(self) -> Iterator[GaugeMetricFamily]:
        """From rows, so that it works while nothing runs."""
        rows = [one for one in stage_statuses(self.now) if one.watched]
        ran = {one.stage: one.ran.total_seconds() for one in rows}
        ticked = [one.ticked for one in rows if one.ticked is not None]
        yield gauge_by("stage_last_run_seconds", ran)
        interval = {one.stage: one.interval.total_seconds() for one in rows}
        yield gauge_by("stage_interval_seconds", interval)
        oldest = {one.stage: one.oldest.total_seconds() for one in rows if one.has_due_work}
        yield gauge_by("stage_oldest_due_seconds", oldest)
        if ticked:
            yield gauge("beat_last_tick_seconds", min(ticked).total_seconds())
        yield gauge("failing_collections", Assignable.objects.filter(failures__gt=0).count())

    def lateness(self) -> dict[str, float]:
        due = Delivery.objects.due(self.now).order_by().values_list("lane__kind").annotate(Min("due_at"))
        quiet = dict.fromkeys(Lane.objects.order_by().values_list("kind", flat=True), 0.0)
        return quiet | {kind: (self.now - oldest).total_seconds() for kind, oldest in due}


def counted_events() -> Iterator[CounterMetricFamily]:
    rows = Counted.objects.values_list("name", "label", "count")
    counts: dict[str, dict[str, int]] = {name: {} for name in COUNTED_EVENTS}
    for name, label, count in rows:
        counts.setdefault(name, {})[label] = count
    for name, (text, label) in COUNTED_EVENTS.items():
        family = CounterMetricFamily(f"feedletter_{name}", text, labels=[label])
        for value, count in sorted(counts[name].items()):
            family.add_metric([value], count)
        yield family


def database_metrics() -> Iterator[Metric]:
    """Measure a query without a table."""
    began = time.perf_counter()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        cursor.fetchone()
    took = time.perf_counter() - began
    yield gauge("database_seconds", took)
    yield gauge("clock_behind_seconds", behind())
    text, label = INFO
    yield InfoMetricFamily("feedletter", text, value={label: settings.VERSION})


def lanes_by_state(now: datetime) -> dict[str, int]:
    rests, unpaused = Q(free_at__gt=now), Q(paused=False)
    states = {
        "paused": Q(paused=True),
        "failing": unpaused & Q(failures__gt=0),
        "resting": unpaused & rests & Q(failures=0),
        "sending": unpaused & ~rests & Q(failures=0),
    }
    # One state is also the name of a column.
    counts = Lane.objects.aggregate(**{f"in_{state}": Count("pk", filter=q) for state, q in states.items()})
    return {state: counts[f"in_{state}"] for state in states}


def feeds_by_health() -> dict[str, int]:
    health = Case(When(FAILING, Value("failing")), When(HELD, Value("held")), default="status")
    return dict.fromkeys(HEALTH, 0) | counts_by(Feed.objects.annotate(is_now=health), "is_now")


def counts_by(rows: QuerySet[Any], column: str) -> dict[str, int]:
    return dict(rows.order_by().values_list(column).annotate(Count("pk")))


def gauge(name: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"feedletter_{name}", GAUGES[name][0], value=value)


def gauge_by(name: str, values: dict[str, Any]) -> GaugeMetricFamily:
    text, label = GAUGES[name]
    family = GaugeMetricFamily(f"feedletter_{name}", text, labels=[label])
    for key, value in sorted(values.items()):
        family.add_metric([key], value)
    return family


def may_read(request: HttpRequest) -> bool:
    """Require METRICS_TOKEN as bearer token, or a local client without proxies."""
    token = settings.METRICS_TOKEN
    given = request.headers.get("Authorization", "")
    if token and constant_time_compare(given, f"Bearer {token}"):
        return True
    host = split_domain_port(request.get_host())[0].strip("[]")
    return (
        is_loopback(request.META.get("REMOTE_ADDR", ""))
        and (host == "localhost" or is_loopback(host))
        and not request.META.get(CAME_FORWARDED)
        and not any(name in request.headers for name in FORWARDED)
    )


def is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    if not may_read(request):
        raise PermissionDenied("Give METRICS_TOKEN as the bearer token, or ask from this machine.")
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Ledger(utcnow()))
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)
