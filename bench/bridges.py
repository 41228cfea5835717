"""One new post over 1,000 bridges, each to a topic of its own at a service that answers in 50 ms."""

import contextlib
import os
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
from delivery.issues.complete import complete_due
from delivery.models import Delivery, Issue
from feeds.models import Feed, Item
from feeds.parsing.entry import Entry
from subscriptions.collections.assign import assign_final
from subscriptions.models import Destination, Subscribable, Subscription

BRIDGES = int(os.environ.get("BRIDGES", "1000"))
MOST_SECONDS, MOST_CPU_MS, MOST_MB = 60.0, 15.0, 250.0
# To make the issue of a post that settled: what is stored of it, and what it takes.
MOST_MAKING_MS, MOST_KB = 15.0, 8.0
PARAGRAPH = (
    "<p>Bees dance to tell <em>where</em> flowers are, and how far it is to <a href='/far'>them</a>.</p>"
)
POST = f"<h2>Bees</h2>{PARAGRAPH * 40}<figure><img src='/bee.jpg' alt='A bee'></figure>"


def bridges() -> list[dict[str, object]]:
    """Seconds, the processor's time of each post, and the memory of the process, beside what is asked."""
    settings.ALLOW_PRIVATE_NETWORKS = [ip_network("127.0.0.0/8")]
    with service() as url:
        settle_everywhere(url)
        before = time.process_time()
        while complete_due():
            pass
        making = time.process_time() - before
        spent, begun = time.process_time(), time.monotonic()
        while Delivery.objects.waiting().exists():
            send_due()
        seconds, cpu = time.monotonic() - begun, time.process_time() - spent
        posted = requests.get(f"{url}/posted", timeout=10).json()
    assert len(posted) == BRIDGES
    assert set(posted.values()) == {1}
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    texts = sum(
        len(f"{html}{text}{entry}".encode())
        for html, text, entry in Issue.objects.values_list("html", "text", "issue_items__entry")
    )
    return [
        figure(f"posts over {BRIDGES:,} bridges", seconds, MOST_SECONDS, "s"),
        figure("  the processor's time of each", cpu / BRIDGES * 1000, MOST_CPU_MS, "ms"),
        figure("  that of making its issue", making / BRIDGES * 1000, MOST_MAKING_MS, "ms"),
        figure("  what is stored of each", texts / BRIDGES / 1024, MOST_KB, "KB"),
        figure("  memory of the process", megabytes, MOST_MB, "MB"),
    ]


def figure(name: str, value: float, most: float, unit: str) -> dict[str, object]:
    told = {"unit": unit, "baseline": "at most"}
    return {"figure": name, "rate": value, "baseline_rate": most, "ratio": value / most, **told}


def settle_everywhere(url: str) -> None:
    """A post that has settled is in the collection of each bridge."""
    now, kind = timezone.now(), channels.get("ntfy")
    feed = Feed.objects.create(url="https://blog.example/feed", title="Bees", fetched_through=now)
    link = "https://blog.example/bees"
    entry = Entry(guid="1", title="Bees", link=link, content=POST, summary="About bees.", published=now)
    made = []
    for number in range(BRIDGES):
        fields = {"server_url": url, "topic": f"topic{number}"}
        to = kind.parse_destination(fields)
        bridge = Subscribable.objects.create(name=f"bridge{number}", channel="ntfy", arrangement="each")
        bridge.feeds.add(feed)
        kept: dict[str, Any] = {"config": to.config, "secrets": to.secrets}
        destination = Destination.objects.create(
            kind="ntfy", core=to.core, label=to.label, added_at=now, **kept
        )
        Subscription.objects.create(
            subscribable=bridge, destination=destination, status="confirmed", added_at=now, confirmed_at=now
        )
        made.append(bridge)
    Item.objects.create(
        feed=feed,
        guid="1",
        link=link,
        title="Bees",
        entry=entry.to_json(),
        first_seen=now,
        stable_since=now,
        last_checked=now,
        final_at=now,
    )
    while assign_final():
        pass


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
