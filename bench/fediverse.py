"""An issue for 100,000 followers on 5,000 servers that answer in 50 ms: cost grows with servers."""

import contextlib
import resource
import subprocess
import sys
from collections.abc import Iterator
from ipaddress import ip_network

import requests
from django.conf import settings
from django.db import connection
from django.utils import timezone

from bench.bridges import add_final_post, figure, send, took
from channels.activitypub.channel import ActivityPubChannel
from delivery.issues.complete import complete_due
from fediverse.actors import switch_on
from fediverse.models import Follower
from feeds.models import Feed
from subscriptions.collections.assign import assign_final
from subscriptions.models import Destination, Subscribable, Subscription

FOLLOWERS, SERVERS = 100_000, 5_000
LEAST_RATE, MOST_MB = 500.0, 250.0


def fediverse() -> list[dict[str, object]]:
    settings.ALLOW_PRIVATE_NETWORKS = [ip_network("127.0.0.0/8")]
    with service() as port:
        fill(port)
        assigned, published, sent = (took(act) for act in (assign_final, complete_due, send))
        counts = requests.get(f"http://127.0.0.1:{port}/counts", timeout=10).json()
    assert len(counts) == SERVERS
    assert set(counts.values()) == {1}
    rate = SERVERS / sent[0]
    least = {"unit": "/s", "baseline": "at least", "baseline_rate": LEAST_RATE, "ratio": rate / LEAST_RATE}
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [
        {"figure": "servers of the Fediverse", "rate": rate, **least},
        figure("  the processor's time for each", sent[1] / SERVERS * 1000, 2.0, "ms"),
        figure("  publishing the issue", assigned[0] + published[0], 2.0, "s"),
        figure("  memory of the process", megabytes, MOST_MB, "MB"),
    ]


def fill(port: str) -> None:
    now = timezone.now()
    feed = Feed.objects.create(url="https://blog.example/feed", title="Bees", added_at=now)
    newsletter = Subscribable.objects.create(name="bees", visibility="public", arrangement="each")
    newsletter.feeds.add(feed)
    actor = switch_on(newsletter, now=now)
    inboxes = [
        f"http://127.{number // 65536}.{number // 256 % 256}.{number % 256}:{port}/inbox"
        for number in range(256, SERVERS + 256)
    ]
    places = [ActivityPubChannel().parse_destination({"inbox": inbox}) for inbox in inboxes]
    servers = Destination.objects.bulk_create(
        Destination(kind="activitypub", core=to.core, label=to.label, config=to.config) for to in places
    )
    Subscription.objects.bulk_create(
        Subscription(subscribable=newsletter, destination=server, status="confirmed", confirmed_at=now)
        for server in servers
    )
    for begin in range(0, FOLLOWERS, SERVERS):
        Follower.objects.bulk_create(
            Follower(
                actor=actor,
                uri=f"{inbox}/{begin + number}",
                handle=f"reader{begin + number}@{number}.example",
                inbox=inbox,
                server=server,
            )
            for number, (inbox, server) in enumerate(zip(inboxes, servers, strict=True))
        )
    add_final_post(feed)
    with connection.cursor() as cursor:
        # As autovacuum does.
        cursor.execute("ANALYZE")


@contextlib.contextmanager
def service() -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.fediverse_service"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(10)
