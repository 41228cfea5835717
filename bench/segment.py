"""Time to count and queue a letter to a tenth of a million subscribers."""

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from django.db import connection
from django.db.models import Count
from django.utils import timezone

from bench import audience
from bench.million import figure, forget
from delivery.issues.audience import chosen_audience, count_readers
from delivery.issues.publish import publish
from delivery.models import Delivery
from delivery.rules.audience import EVERY_READER, Audience
from subscriptions.models import Destination, Subscribable, SubscriberTag, Subscription, Tagging

EVERYBODY, OTHERS = 1_000_000, 20_000
TENTH = 10
ROUNDS = 3
# Limit in seconds.
SEGMENT_FAN_OUT = 5.0


def segment() -> list[dict[str, object]]:
    audience.lane()
    newsletter = audience.newsletter("many", readers=EVERYBODY)
    audience.newsletter("other", readers=OTHERS)
    # 10 % have the tag, 1 % are left out.
    _tag("tenth", f"id %% {TENTH} = 0")
    _tag("left-out", f"id %% {TENTH * 10} = 0")
    # Half of the other's tagged readers have this one, too.
    _subscribe(newsletter, f"core LIKE 'other-reader%%' AND id %% {TENTH * 2} = 0")
    audience.vacuum(Tagging, SubscriberTag, Subscription, Destination)
    results = []
    for label, named in (
        ("with a tag", {"any_of": ["tenth"]}),
        ("  and without another", {"any_of": ["tenth"], "none_of": ["left-out"]}),
        ("  of two newsletters", {"any_of": ["tenth"], "others": ["other"]}),
    ):
        seconds, count = _fan_out(newsletter, chosen_audience(newsletter, **named))
        shown = f"{label}: {count:,} in {seconds:.1f} s"
        results.append(figure(shown, count / seconds, "letters/s", "5 s", count / SEGMENT_FAN_OUT))
    plain = audience.newsletter("plain", readers=EVERYBODY // TENTH)
    seconds, count = _fan_out(plain, EVERY_READER)
    shown = f"to all of {count:,} in {seconds:.1f} s"
    return [*results, figure(shown, count / seconds, "letters/s", "5 s", count / SEGMENT_FAN_OUT)]


def _fan_out(newsletter: Subscribable, chosen: Audience) -> tuple[float, int]:
    """Return the median seconds and the count. Checks that nobody gets two."""
    times, processor, count = [], [], 0
    for _ in range(ROUNDS):
        issue = audience.issue(newsletter, time.time_ns())
        issue.audience = chosen.to_json()
        issue.save(update_fields=["audience"])
        counted = _seconds(partial(count_readers, issue))
        begun = _processor_seconds()
        times.append(_seconds(partial(publish, issue_id=issue.pk, now=timezone.now())))
        processor.append(_processor_seconds() - begun)
        rows = Delivery.objects.filter(issue=issue).order_by()
        count = rows.count()
        people = rows.aggregate(n=Count("destination", distinct=True))["n"]
        assert people == count == count_readers(issue)[0]
        forget()
    print(
        f"  counted in {counted:.2f} s, queued in {', '.join(f'{each:.2f}' for each in times)} s, "
        f"of which PostgreSQL had a processor for {median(processor):.2f} s"
    )
    return median(times), count


def _seconds(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def _processor_seconds() -> float:
    """CPU time of our connection's backend."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


def _tag(name: str, people: str) -> None:
    tag = SubscriberTag.objects.create(name=name, key=name)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {Tagging._meta.db_table} (tag_id, destination_id) "
            f"SELECT %s, id FROM {Destination._meta.db_table} WHERE {people}",
            [tag.pk],
        )


def _subscribe(newsletter: Subscribable, people: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            INSERT INTO {Subscription._meta.db_table}
                (subscribable_id, destination_id, display_name, asked_name, status, language, added_at,
                confirmed_at, token, confirm_nonce)
            SELECT %s, id, '', '', 'confirmed', '', now(), now(), md5(random()::text), ''
            FROM {Destination._meta.db_table} WHERE {people}
            """,
            [newsletter.pk],
        )
