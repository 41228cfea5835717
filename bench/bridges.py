"""One new post over 1,000 bridges, each to a topic of its own at a service that answers in 50 ms."""

import contextlib
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from ipaddress import ip_network
from typing import Any

import requests
from django.conf import settings
from django.utils import timezone

from common.ports import channels
from delivery.engine.send_pass import send_due
from delivery.issues.publish import publish
from delivery.models import Delivery, Issue, IssueItem
from feeds.parsing.entry import Entry
from subscriptions.models import Destination, Subscribable, Subscription

BRIDGES = 1_000
MOST_SECONDS, MOST_CPU_MS, MOST_MB = 60.0, 15.0, 250.0


def bridges() -> list[dict[str, object]]:
    """Seconds, the processor's time of each post, and the memory of the process, beside what is asked."""
    settings.ALLOW_PRIVATE_NETWORKS = [ip_network("127.0.0.0/8")]
    with service() as url:
        publish_everywhere(url)
        spent, begun = time.process_time(), time.monotonic()
        while Delivery.objects.waiting().exists():
            send_due()
        seconds, cpu = time.monotonic() - begun, time.process_time() - spent
        posted = requests.get(f"{url}/posted", timeout=10).json()
    assert len(posted) == BRIDGES
    assert set(posted.values()) == {1}
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [
        figure("posts over 1,000 bridges", seconds, MOST_SECONDS, "s"),
        figure("  the processor's time of each", cpu / BRIDGES * 1000, MOST_CPU_MS, "ms"),
        figure("  memory of the process", megabytes, MOST_MB, "MB"),
    ]


def figure(name: str, value: float, most: float, unit: str) -> dict[str, object]:
    told = {"unit": unit, "baseline": "at most"}
    return {"figure": name, "rate": value, "baseline_rate": most, "ratio": value / most, **told}


def publish_everywhere(url: str) -> None:
    now, kind = timezone.now(), channels.get("ntfy")
    for number in range(BRIDGES):
        fields = {"server_url": url, "topic": f"topic{number}"}
        to = kind.parse_destination(fields)
        bridge = Subscribable.objects.create(name=f"bridge{number}", channel="ntfy", arrangement="each")
        kept: dict[str, Any] = {"config": to.config, "secrets": to.secrets}
        destination = Destination.objects.create(
            kind="ntfy", core=to.core, label=to.label, added_at=now, **kept
        )
        Subscription.objects.create(
            subscribable=bridge, destination=destination, status="confirmed", added_at=now, confirmed_at=now
        )
        issue = Issue.objects.create(
            subscribable=bridge,
            within_type_id="1",
            token=f"t{number}",
            title="Bees",
            subject="Bees",
            text="Bees",
        )
        entry = Entry(guid="1", title="Bees", link="https://blog.example/bees", summary="About bees.")
        IssueItem.objects.create(issue=issue, position=0, entry=entry.to_json())
        publish(issue_id=issue.pk, now=now)


@contextlib.contextmanager
def service() -> Iterator[str]:
    """Runs beside until the block ends; its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.bridge_service"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(10)
