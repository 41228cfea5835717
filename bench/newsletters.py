"""A post in each of many feeds, until the emails of all their newsletters are queued.

Thousands of small newsletters: the cost of one must not depend on their number.
"""

import time
from collections.abc import Callable
from datetime import timedelta

from django.db import connection
from django.utils import timezone

from bench import audience
from delivery.engine.send_pass import send_due
from delivery.issues.complete import complete_due
from delivery.models import Delivery
from feeds.models import Feed, Item
from feeds.parsing.entry import Entry
from subscriptions.collections.assign import assign_final
from subscriptions.models import Destination, Subscribable, Subscription

# Newsletters, the second ten times the first.
FEW, MANY = 1_000, 10_000
READERS, A_FEED = 100, 10
# Limits: milliseconds of processor time.
MOST_CPU_MS, MOST_IDLE_MS = 10.0, 20.0
TICKS = 20


def newsletters() -> list[dict[str, object]]:
    audience.lane()
    few = queued(FEW, "few")
    many = queued(MANY, "many")
    Delivery.objects.update(state=Delivery.State.SENT, sent_at=timezone.now())
    for act in (assign_final, complete_due, send_due):
        act()
    idle = [took(act, times=TICKS) * 1000 / TICKS for act in (assign_final, complete_due, send_due)]
    return [
        figure(f"a newsletter of {MANY:,}, from post to queue", many, f"of {FEW:,}", few),
        figure("  the same", many, "wanted", MOST_CPU_MS),
        figure("  a tick of all three stages with nothing due", sum(idle), "wanted", MOST_IDLE_MS),
    ]


def figure(name: str, value: float, baseline: str, baseline_value: float) -> dict[str, object]:
    about: dict[str, object] = {"figure": name, "rate": value, "unit": "CPU-ms", "baseline": baseline}
    return {**about, "baseline_rate": baseline_value, "ratio": value / baseline_value}


def queued(count: int, name: str) -> float:
    """Return this process's milliseconds for a newsletter."""
    fill(count, name)
    seconds = took(assign_final) + took(complete_due)
    assert Delivery.objects.filter(issue__subscribable__name__startswith=name).count() == count * READERS
    return seconds * 1000 / count


def took(act: Callable[[], object], *, times: int = 1) -> float:
    begun = time.process_time()
    for _ in range(times):
        act()
    return time.process_time() - begun


def fill(count: int, name: str) -> None:
    """Create feeds with a final post, their newsletters and subscribers."""
    now, hour_ago = timezone.now(), timezone.now() - timedelta(hours=1)
    feeds = [
        Feed(url=f"https://{name}{number}.example/feed", title=f"Feed {number}", added_at=now)
        for number in range(count // A_FEED)
    ]
    Feed.objects.bulk_create(feeds)
    made = [
        Subscribable(name=f"{name}{number}", title=f"Letter {number}", from_email="Bench <b@example.org>")
        for number in range(count)
    ]
    for each in made:
        each.arrangement = "each"
    Subscribable.objects.bulk_create(made)
    Subscribable.feeds.through.objects.bulk_create(
        Subscribable.feeds.through(subscribable_id=each.pk, feed_id=feeds[number // A_FEED].pk)
        for number, each in enumerate(made)
    )
    entry = Entry(guid="1", title="Bees", content=f"<p>{audience.SENTENCE}</p>" * audience.PARAGRAPHS)
    Item.objects.bulk_create(
        Item(
            feed=feed,
            guid="1",
            guid_hash="1",
            title=entry.title,
            first_seen=hour_ago,
            stable_since=hour_ago,
            last_checked=now,
            final_at=now,
            entry=entry.to_json(),
        )
        for feed in feeds
    )
    # All newsletters have the same people.
    if not Destination.objects.exists():
        audience.rows_of("people", readers=READERS)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            INSERT INTO {Subscription._meta.db_table}
                (subscribable_id, destination_id, display_name, asked_name, status, language, added_at,
                confirmed_at, token, confirm_nonce)
            SELECT newsletter.id, destination.id, '', '', 'confirmed', '', now(), now(),
                md5(random()::text), ''
            FROM {Subscribable._meta.db_table} AS newsletter, {Destination._meta.db_table} AS destination
            WHERE newsletter.name LIKE %s AND newsletter.name <> 'people'
            """,
            [f"{name}%"],
        )
    audience.vacuum(Destination, Subscription, Subscribable, Item, Feed)
