"""Workers that get refusals of the same domains at the same time do not block each other."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, connections

from channels.base import Outcome, Permanent, Sent, Temporary
from delivery.engine.outcomes import record_outcomes
from delivery.engine.send_task import ClaimedDelivery
from delivery.models import Bounce, Delivery, Lane, LaneDomain
from subscriptions.models import Subscribable, Suppression
from tests.delivery.ledger import a_lane, claimed, ended_task, queued
from tests.factories import NOW, IssueFactory

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time"),
]
WORKERS = 4
ANSWERS: tuple[Outcome, ...] = (
    Permanent("550 5.7.1 No", status="5.7.1"),
    Permanent("550 5.1.1 No such user", status="5.1.1"),
    Temporary("421 4.7.0 Slow down", stops_lane=True, suspect=True, status="4.7.0"),
    Permanent("550 5.7.26 Who are you?", status="5.7.26"),
    Sent("ok"),
)


def test_they_record_everything_and_pause_each_domain_once() -> None:
    a_lane()
    issue = IssueFactory()
    domains = ("one.example", "two.example", "three.example")
    for number in range(180):
        queued(1, issue=issue, domain=domains[number % 3])
    jobs = claimed()
    assert len(jobs) == 180
    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(recorded, [jobs[first::WORKERS] for first in range(WORKERS)]))
    assert not Delivery.objects.filter(state="sending").exists()
    assert Bounce.objects.filter(kind="hard").count() == 36
    assert LaneDomain.objects.filter(paused=True).count() == LaneDomain.objects.count() > 0
    assert Lane.objects.get().failures >= 1
    assert Subscribable.objects.get().sending_paused_at == NOW
    held = Bounce.objects.filter(kind="hard", held=True).count()
    assert held + Suppression.objects.count() == 36


def recorded(jobs: Sequence[ClaimedDelivery]) -> None:
    """Record in small groups with every kind of outcome."""
    try:
        for first in range(0, len(jobs), 9):
            group = jobs[first : first + 9]
            record_outcomes([ended_task(job, ANSWERS[job.pk % len(ANSWERS)], NOW) for job in group])
    finally:
        connections.close_all()
