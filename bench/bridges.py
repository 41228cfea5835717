"""One post over 1,000 bridges, each with its own destination, at a service that answers in 50 ms.

A fifth share a bot, and so its limit.
"""

import contextlib
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import requests
from django.conf import settings
from django.utils import timezone

from channels.telegram.bridge import TelegramBridge
from common.ports import channels
from delivery.engine.send_pass import send_due
from delivery.issues.complete import complete_due
from delivery.models import Delivery, Issue, ServiceAccount
from feeds.models import Feed, Item
from feeds.parsing.entry import Entry
from subscriptions.collections.assign import assign_final
from subscriptions.models import Destination, Subscribable, Subscription

BRIDGES, OF_THE_BOT = 1_000, 200
MOST_SECONDS, MOST_CPU_MS, MOST_MB = 60.0, 15.0, 250.0
# Per issue.
MOST_KB = 8.0
TOKEN = "123456:" + "a" * 35
PARAGRAPH = (
    "<p>Bees dance to tell <em>where</em> flowers are, and how far it is to <a href='/far'>them</a>.</p>"
)
POST = f"<h2>Bees</h2>{PARAGRAPH * 40}<figure><img src='/bee.jpg' alt='A bee'></figure>"


def bridges() -> list[dict[str, object]]:
    settings.ALLOW_PRIVATE_NETWORKS = [ip_network("127.0.0.0/8")]
    with service() as url:
        settings.TELEGRAM_API_URL = url
        fill(url)
        assigned, published, sent = (took(act) for act in (assign_final, complete_due, send))
        told = requests.get(f"{url}/posted", timeout=10).json()
    assert len(told["posted"]) == BRIDGES
    assert set(told["posted"].values()) == {1}
    limit = TelegramBridge().account_lane
    assert limit is not None
    assert limit.rate is not None
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    texts = Issue.objects.values_list("html", "text", "issue_items__entry")
    stored = sum(len(f"{html}{text}{entry}".encode()) for html, text, entry in texts) / 1024
    publishing = (assigned[1] + published[1]) / BRIDGES * 1000
    return [
        figure("a post over 1,000 bridges", assigned[0] + published[0] + sent[0], MOST_SECONDS, "s"),
        figure("  of which it is sent in", sent[0], MOST_SECONDS, "s"),
        figure("  the processor's time to publish it to each", publishing, MOST_CPU_MS, "ms"),
        figure("  the processor's time to send it to each", sent[1] / BRIDGES * 1000, MOST_CPU_MS, "ms"),
        figure("  of the bot's at most in a second", told["most_in_a_second"], limit.rate + limit.burst, ""),
        figure("  what is stored of each", stored / BRIDGES, MOST_KB, "KB"),
        figure("  memory of the process", megabytes, MOST_MB, "MB"),
    ]


def send() -> None:
    while Delivery.objects.waiting().exists():
        send_due()


def took(act: Callable[[], object]) -> tuple[float, float]:
    """Return seconds and CPU seconds."""
    spent, begun = time.process_time(), time.monotonic()
    act()
    return time.monotonic() - begun, time.process_time() - spent


def figure(name: str, value: float, most: float, unit: str) -> dict[str, object]:
    told = {"unit": unit, "baseline": "at most"}
    return {"figure": name, "rate": value, "baseline_rate": most, "ratio": value / most, **told}


def fill(url: str) -> None:
    now = timezone.now()
    feed = Feed.objects.create(url="https://blog.example/feed", title="Bees", added_at=now)
    account = ServiceAccount(kind="telegram", name="bot")
    account.secrets = {"token": TOKEN}
    account.save()
    for number in range(BRIDGES):
        if number < OF_THE_BOT:
            kind, fields = channels.get("telegram"), {"account": "bot", "chat": str(-1_000 - number)}
        else:
            kind, fields = channels.get("ntfy"), {"server_url": url, "topic": f"topic{number}"}
        to = kind.parse_destination(fields)
        bridge = Subscribable.objects.create(name=f"bridge{number}", channel=kind.key, arrangement="each")
        bridge.feeds.add(feed)
        kept: dict[str, Any] = {"config": to.config, "secrets": to.secrets}
        destination = Destination.objects.create(
            kind=kind.key, core=to.core, label=to.label, added_at=now, **kept
        )
        Subscription.objects.create(
            subscribable=bridge, destination=destination, status="confirmed", added_at=now, confirmed_at=now
        )
    add_final_post(feed)


def add_final_post(feed: Feed) -> None:
    now = timezone.now()
    entry = Entry(
        guid="1", title="Bees", link="https://blog.example/bees", content=POST, summary="About bees."
    )
    hour_ago = now - timedelta(hours=1)
    Item.objects.create(
        feed=feed,
        guid="1",
        guid_hash="1",
        link=entry.link,
        title=entry.title,
        first_seen=hour_ago,
        stable_since=hour_ago,
        last_checked=now,
        final_at=now,
        entry=entry.to_json(),
    )


@contextlib.contextmanager
def service() -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.bridge_service"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(10)
