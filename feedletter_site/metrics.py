"""/metrics: what the ledger says, for Prometheus. Any web process gives the same answer."""

from collections.abc import Iterator
from datetime import datetime
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Min, QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from common.clock import utcnow
from delivery.models import Delivery, Lane
from feeds.models import Feed, Item
from subscriptions.models import Assignable, Subscription

# Proxies set these: such a request came from elsewhere, whatever its last hop is.
FORWARDED = ("X-Forwarded-For", "X-Real-IP", "Forwarded", "Via")


class Ledger(Collector):
    """One scrape: a handful of counting queries."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def collect(self) -> Iterator[GaugeMetricFamily]:
        states = dict.fromkeys(Delivery.State.values, 0) | Delivery.objects.all().counts()
        yield by("deliveries", "Deliveries by state.", "state", states)
        yield by("oldest_due_seconds", "Age of the oldest due delivery.", "channel", self.lateness())
        yield by("feeds", "Feeds by health.", "health", feeds_by_health())
        yield by("items", "Posts by state.", "state", counted(Item.objects.all(), "state"))
        yield by(
            "subscriptions",
            "Subscriptions by status.",
            "status",
            counted(Subscription.objects.all(), "status"),
        )
        yield GaugeMetricFamily(
            "feedletter_open_collections", "Collections not issued yet.", value=Assignable.objects.count()
        )
        paused = Lane.objects.filter(paused=True).count()
        yield GaugeMetricFamily("feedletter_paused_lanes", "Lanes somebody must look at.", value=paused)

    def lateness(self) -> dict[str, float]:
        due = Delivery.objects.due(self.now).order_by().values_list("lane__kind").annotate(Min("due_at"))
        quiet = dict.fromkeys(Lane.objects.order_by().values_list("kind", flat=True), 0.0)
        return quiet | {kind: (self.now - oldest).total_seconds() for kind, oldest in due}


def feeds_by_health() -> dict[str, int]:
    """As Feed.health: an active feed with failures counts as failing, else one with a flood as held."""
    watched = Feed.objects.watched()
    failing = watched.filter(failures__gt=0).count()
    held = watched.filter(failures=0, held_since__isnull=False).count()
    counts = dict.fromkeys(Feed.Status.values, 0) | counted(Feed.objects.all(), "status")
    return counts | {"active": counts["active"] - failing - held, "failing": failing, "held": held}


def counted(rows: QuerySet[Any], column: str) -> dict[str, int]:
    return dict(rows.order_by().values_list(column).annotate(Count("pk")))


def by(name: str, text: str, label: str, values: dict[str, Any]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"feedletter_{name}", text, labels=[label])
    for key, value in sorted(values.items()):
        family.add_metric([key], value)
    return family


def may_read(request: HttpRequest) -> bool:
    """With METRICS_TOKEN as the bearer token, or from this machine without a proxy in between."""
    token = settings.METRICS_TOKEN
    given = request.headers.get("Authorization", "")
    if token and constant_time_compare(given, f"Bearer {token}"):
        return True
    host = split_domain_port(request.get_host())[0].strip("[]")
    return (
        is_loopback(request.META.get("REMOTE_ADDR", ""))
        and (host == "localhost" or is_loopback(host))
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
