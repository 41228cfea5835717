"""An issue for a million subscribers: time to queue, cost of a letter, memory."""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from statistics import median

from django.db import connection, transaction
from django.utils import timezone

from bench import audience
from bench.smtp import sink
from delivery.issues.publish import publish
from delivery.models import Delivery, Issue, Lane
from subscriptions.models import Subscribable

MANY = 1_000_000
FEW = 10_000
ROUNDS = 2
SAMPLE_SECONDS = 6.0
LONG = 120.0
# Limit: megabytes of a sender.
MEMORY = 200.0
# A row per subscription in a table with the ledger's keys.
BARE = """
INSERT INTO bare (kind, key, template, context, language, domain, priority, state, held_for, created_at,
    due_at, attempts, remote_id, last_error, issue_id, lane_id, destination_id, subscription_id)
SELECT 'issue', '', '', '{}', '', 'mail1.example', 5, 'queued', '', now(), now(),
    0, '', '', %s, %s, destination_id, id
FROM subscriptions_subscription WHERE subscribable_id = %s ORDER BY id
"""


@dataclass(frozen=True, slots=True)
class Sample:
    sent: int
    seconds: float
    megabytes: float

    @property
    def rate(self) -> float:
        return self.sent / self.seconds


def million() -> list[dict[str, object]]:
    """The goal is a ratio of 1; for the cost of a letter 0.83 (1.2 times)."""
    lane = audience.lane()
    few, many = (audience.newsletter(f"list{size}", readers=size) for size in (FEW, MANY))
    with sink() as port:
        small = [whole(few, number, port) for number in range(ROUNDS)]
        bare = bare_insert(audience.issue(many, 0), lane)
        seconds = fan_out(audience.issue(many, 1))
        big = [sample(SAMPLE_SECONDS, port) for _ in range(ROUNDS + 1)]
        forget()
        small += [whole(few, number + ROUNDS, port) for number in range(ROUNDS)]
    ours, baseline = median(one.rate for one in big), median(one.rate for one in small)
    peak = max(one.megabytes for one in big)
    return [
        figure(
            f"fan-out, {MANY:,} in {seconds:.1f} s", MANY / seconds, "letters/s", "bare INSERT", MANY / bare
        ),
        figure(f"letters of a {MANY:,}", ours, "letters/s", f"of {FEW:,}", baseline),
        figure("  the sender's memory, at most", peak, "MB", "wanted", MEMORY) | {"ratio": MEMORY / peak},
    ]


def figure(name: str, rate: float, unit: str, baseline: str, baseline_rate: float) -> dict[str, object]:
    shared: dict[str, object] = {"figure": name, "rate": rate, "unit": unit, "baseline": baseline}
    return shared | {"baseline_rate": baseline_rate, "ratio": rate / baseline_rate}


def bare_insert(issue: Issue, lane: Lane) -> float:
    """Return the seconds of the same number of rows with the same indexes and foreign keys."""
    table = Delivery._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE bare (LIKE {table} INCLUDING ALL)")
        cursor.execute(
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint"
            " WHERE contype = 'f' AND conrelid = %s::regclass",
            [table],
        )
        for (key,) in cursor.fetchall():
            cursor.execute(f"ALTER TABLE bare ADD {key}")
        started = time.perf_counter()
        with transaction.atomic():
            cursor.execute(BARE, [issue.pk, lane.pk, issue.subscribable_id])
        seconds = time.perf_counter() - started
        cursor.execute("DROP TABLE bare")
    return seconds


def fan_out(issue: Issue) -> float:
    started = time.perf_counter()
    count = publish(issue_id=issue.pk, now=timezone.now())
    seconds = time.perf_counter() - started
    assert count == MANY
    audience.vacuum(Delivery)
    return seconds


def whole(newsletter: Subscribable, number: int, port: int) -> Sample:
    count = audience.publish_settled(audience.issue(newsletter, number))
    sent = sample(LONG, port)
    assert sent.sent == count, sent
    return sent


def sample(seconds: float, port: int) -> Sample:
    command = [sys.executable, "-m", "bench.sender", str(seconds), str(port)]
    done = subprocess.run(command, check=True, timeout=300, stdout=subprocess.PIPE)
    return Sample(**json.loads(done.stdout))


def forget() -> None:
    """Empty the ledger."""
    with connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {Delivery._meta.db_table} CASCADE")
