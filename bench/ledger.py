"""Pages and ticks with 20,000 feeds, 400,000 posts, 50,000 subscribers and 2,000,000 letters."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from statistics import median
from typing import Any

from django.contrib.auth.models import User
from django.db import connection, models
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from bench import audience
from delivery import tasks as delivery_tasks
from delivery.models import Delivery, Issue
from feedletter_site.monitoring.stages import stages_without_work
from feeds import tasks as feeds_tasks
from feeds.models import Feed, Item
from subscriptions import tasks as subscriptions_tasks
from subscriptions.models import Destination, Subscription

ROUNDS = 3
# Limits of a page.
MOST_MS, MOST_KB = 150.0, 300.0


@dataclass(frozen=True, slots=True)
class Size:
    """Issues are sent to all subscribers."""

    feeds: int = 20_000
    hosts: int = 5_000
    posts: int = 400_000
    subscribers: int = 50_000
    issues: int = 40


def ledger() -> list[dict[str, object]]:
    fill(Size())
    client = Client()
    client.force_login(User.objects.create_superuser("bench"))
    results = [page_figure(client, name, address) for name, address in pages()]
    return results + [_tick(name, run) for name, run in ticks().items()]


def fill(size: Size) -> None:
    """Copy rows of the models by SQL, so that no column is missing."""
    now = timezone.now()
    feed = Feed.objects.create(
        url="https://first.example/", last_polled_at=now, fetched_through=now, next_poll_at=_later()
    )
    copies(
        feed,
        size.feeds,
        url=f"'https://blog' || n % {size.hosts} || '.example/' || n || '.xml'",
        host=f"'blog' || n % {size.hosts} || '.example'",
        title="'Blog ' || n",
    )
    item = Item.objects.create(
        feed=feed,
        guid="first",
        guid_hash="",
        state="cleared",
        first_seen=now,
        stable_since=now,
        last_checked=now,
    )
    copies(
        item,
        size.posts,
        feed_id=f"{feed.pk} + n % {size.feeds}",
        guid="'https://blog.example/' || n",
        guid_hash="md5(n::text) || md5((-n)::text)",
        link="'https://blog.example/' || n",
        link_hash="md5(n::text)",
        title="'The post with the number ' || n",
        first_seen="now() - n * interval '1 minute'",
        state="CASE WHEN n % 50 = 0 THEN 'excluded' ELSE 'cleared' END",
    )
    newsletter = audience.newsletter("ledger", readers=size.subscribers)
    newsletter.feeds.set(Feed.objects.order_by("pk")[:20])
    first = Subscription.objects.filter(subscribable=newsletter).order_by("pk")[0]
    lane = audience.lane(connections=10)
    for number in range(size.issues):
        issue = audience.issue(newsletter, number)
        published = now - timedelta(hours=20 * (size.issues - number))
        Issue.objects.filter(pk=issue.pk).update(published_at=published, created_at=published)
        letter = Delivery.objects.create(
            issue=issue,
            destination_id=first.destination_id,
            subscription=first,
            lane=lane,
            created_at=published,
            due_at=published,
            state="sent",
        )
        copies(
            letter,
            size.subscribers - 1,
            destination_id=f"{first.destination_id} + n",
            subscription_id=f"{first.pk} + n",
            domain=f"'mail' || n % {audience.DOMAINS} || '.example'",
            state="CASE WHEN n % 100 = 0 THEN 'failed' WHEN n % 101 = 0 THEN 'cancelled' ELSE 'sent' END",
            sent_at="CASE WHEN n % 100 > 0 AND n % 101 > 0 THEN "
            f"'{published.isoformat()}'::timestamptz + n * interval '0.2 seconds' END",
            remote_id="'250 2.0.0 Ok: queued as ' || upper(to_hex(n::bigint * 7919))",
        )
    for model in (Feed, Item, Destination, Subscription, Delivery):
        audience.vacuum(model)


def _later() -> Any:
    return timezone.now() + timedelta(days=1)


def copies(row: models.Model, count: int, **changes: str) -> None:
    """Copy a row. `changes`: column → SQL, with n from 1."""
    table = row._meta.db_table
    names = [str(field.column) for field in row._meta.concrete_fields if not field.primary_key]
    chosen = ", ".join(changes.get(name, f"one.{name}") for name in names).replace("%", "%%")
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({', '.join(names)}) SELECT {chosen} "
            f"FROM {table} one, generate_series(1, %s) n WHERE one.id = %s",
            [count, row.pk],
        )


def pages() -> list[tuple[str, str]]:
    newest = Delivery.objects.latest("pk")
    address, feed, issue = newest.destination.core, Feed.objects.latest("pk"), newest.issue_id
    deliveries, posts = "/admin/delivery/delivery/", "/admin/feeds/item/"
    return [
        ("/metrics", "/metrics"),
        ("overview", "/admin/"),
        ("deliveries", deliveries),
        ("deliveries by address", f"{deliveries}?q={address}"),
        ("deliveries by its beginning", f"{deliveries}?q={address[:-12]}"),
        ("deliveries by an unknown address", f"{deliveries}?q=nobody@nowhere.example"),
        ("deliveries by domain", f"{deliveries}?q=mail7.example"),
        ("deliveries by the server's id", f"{deliveries}?q={newest.remote_id[-6:]}"),
        ("failed deliveries", f"{deliveries}?state__exact=failed"),
        ("held deliveries", f"{deliveries}?state__exact=held"),
        ("waiting deliveries", f"{deliveries}?state__in=queued,deferred"),
        ("deliveries of an issue", f"{deliveries}?issue__id__exact={issue}"),
        ("failed ones of an issue", f"{deliveries}?issue__id__exact={issue}&state__exact=failed"),
        ("sign-in mails", f"{deliveries}?kind__exact=sign_in"),
        ("a delivery", f"{deliveries}{newest.pk}/change/"),
        ("posts", posts),
        ("posts of a feed", f"{posts}?feed__id__exact={feed.pk}"),
        ("excluded posts", f"{posts}?state__exact=excluded"),
        ("posts that are held", f"{posts}?held=yes"),
        ("posts by words", f"{posts}?q=number+399990"),
        ("feeds", "/admin/feeds/feed/"),
        ("a feed", f"/admin/feeds/feed/{feed.pk}/change/"),
        ("subscribers", "/admin/subscriptions/subscription/"),
        ("issues", "/admin/delivery/issue/"),
        ("an issue", f"/admin/delivery/issue/{issue}/change/"),
        ("lanes", "/admin/delivery/lane/"),
    ]


def ticks() -> dict[str, Callable[[], Any]]:
    """Stages without work, and the check that skips them."""
    return {
        "the look for work": lambda: stages_without_work(timezone.now()),
        "feeds.poll": feeds_tasks.poll,
        "feeds.hubs": feeds_tasks.hubs,
        "subscriptions.assign": subscriptions_tasks.assign,
        "subscriptions.lists": subscriptions_tasks.lists,
        "delivery.complete": delivery_tasks.complete,
        "delivery.send": delivery_tasks.send,
        "delivery.reap": delivery_tasks.reap,
        "delivery.alert": delivery_tasks.alert,
        "delivery.webhooks": delivery_tasks.webhooks,
    }


def page_figure(
    client: Client, name: str, address: str, *, most: float = MOST_MS, rounds: int = ROUNDS
) -> dict[str, object]:
    sizes: list[int] = []

    def ask() -> None:
        answer = client.get(address, REMOTE_ADDR="127.0.0.1", HTTP_HOST="127.0.0.1")
        assert answer.status_code == 200, (address, answer.status_code)
        sizes.append(len(answer.content))

    ms = took(ask, rounds)
    return figure(f"{name}, {statements(ask)} statements, {sizes[-1] / 1000:.0f} KB", ms, most)


def _tick(name: str, run: Callable[[], Any]) -> dict[str, object]:
    return figure(f"{name}, {statements(run)} statements", took(run))


def statements(run: Callable[[], Any]) -> int:
    with CaptureQueriesContext(connection) as asked:
        run()
    return len(asked)


def took(run: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """Return the median in milliseconds."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        run()
        times.append((time.perf_counter() - started) * 1000)
    return median(times)


def figure(name: str, ms: float, most: float = MOST_MS) -> dict[str, object]:
    shared: dict[str, object] = {"figure": name, "rate": ms, "unit": "ms", "baseline": "it may take"}
    return shared | {"baseline_rate": most, "ratio": most / max(ms, 0.001)}
