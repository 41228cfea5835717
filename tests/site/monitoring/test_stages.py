"""Stopped stages are reported by what is due, whether or not anything runs."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django_celery_beat.models import PeriodicTask

from common.clock import utcnow
from feedletter_site.models import Stage
from feedletter_site.monitoring.stages import StageStatus, stage_statuses
from feedletter_site.monitoring.vitals import write_stages
from feedletter_site.ticks.schedule import STAGES
from feeds.models import Feed
from tests.factories import (
    NOW,
    AssignableFactory,
    AssignmentFactory,
    DailyFactory,
    DeliveryFactory,
    FeedFactory,
    FinalItemFactory,
    LaneFactory,
    SubscribableFactory,
)

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def of(stage: str) -> StageStatus:
    return next(one for one in stage_statuses(NOW) if one.stage == stage)


@pytest.fixture(autouse=True)
def _all_ran() -> None:
    """Record that every stage ran a second ago."""
    Stage.objects.update(since=NOW)
    write_stages("ran_at", dict.fromkeys(STAGES, NOW - timedelta(seconds=1)))


def test_a_service_at_rest_is_in_no_trouble() -> None:
    FeedFactory(next_poll_at=NOW + HOUR)
    assert [one.trouble for one in stage_statuses(NOW) if one.trouble] == []


def test_migrating_makes_a_row_for_each_stage_so_that_one_that_never_runs_is_seen() -> None:
    assert set(Stage.objects.values_list("name", flat=True)) == set(STAGES)
    Stage.objects.update(ran_at=None, since=NOW - HOUR)
    assert of("delivery.send").trouble == "delivery.send has not run for 1 hour."
    # A daily stage is not yet late.
    assert of("delivery.prune").trouble == ""


def test_a_stage_that_an_admin_switched_off_is_not_missed() -> None:
    Stage.objects.update(ran_at=NOW - HOUR)
    PeriodicTask.objects.filter(name="feeds.poll").update(enabled=False)
    assert of("feeds.poll").trouble == ""


def a_feed() -> Any:
    return FeedFactory(next_poll_at=NOW - HOUR)


def a_settled_post() -> Any:
    return FinalItemFactory(final_at=NOW - HOUR, feed=SubscribableFactory().feeds.get())


def a_collection() -> Any:
    late = NOW - 2 * HOUR
    period = {"period_start": late - HOUR, "period_end": late}
    row = AssignableFactory(subscribable=DailyFactory(), **period)
    return AssignmentFactory(assignable=row)


def a_letter() -> Any:
    return DeliveryFactory(due_at=NOW - HOUR)


def a_dead_workers_letter() -> Any:
    lease = {"lease_token": "6f2c4a52-5f0a-4b5e-8d0a-6a6a5b6b0b00", "lease_until": NOW - HOUR}
    return DeliveryFactory(state="sending", **lease)


@pytest.mark.parametrize(
    ("stage", "make"),
    [
        ("feeds.poll", a_feed),
        ("subscriptions.assign", a_settled_post),
        ("delivery.complete", a_collection),
        ("delivery.send", a_letter),
        ("delivery.reap", a_dead_workers_letter),
    ],
)
def test_what_waits_shows_though_every_stage_seems_to_run(stage: str, make: Any) -> None:
    assert of(stage).oldest == timedelta(0)
    make()
    assert of(stage).oldest >= HOUR
    assert of(stage).trouble.startswith(f"{stage} is ")


def test_a_paused_lane_is_a_persons_affair_and_no_stop() -> None:
    DeliveryFactory(due_at=NOW - HOUR, lane=LaneFactory(paused=True))
    assert of("delivery.send").trouble == ""


def test_with_everything_dead_and_a_post_waiting_the_metrics_say_so(client: Client) -> None:
    a_feed()
    Stage.objects.update(ran_at=NOW - HOUR, ticked_at=NOW - HOUR)
    local = {"REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "127.0.0.1:8000"}
    text = client.get("/metrics", **local).content.decode()  # type: ignore[arg-type]
    numbers = dict(line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("feedletter_"))
    # Since NOW, which is long ago.
    assert float(numbers["feedletter_beat_last_tick_seconds"]) > 3600
    assert float(numbers['feedletter_stage_last_run_seconds{stage="delivery.send"}']) > 3600
    assert float(numbers['feedletter_stage_oldest_due_seconds{stage="feeds.poll"}']) > 3600
    assert 'feedletter_info{version="' in text
    assert float(numbers["feedletter_database_seconds"]) < 10


def test_readyz_tells_a_monitor_without_prometheus_when_it_is_asked_for_the_stages(client: Client) -> None:
    a_feed()
    assert client.get("/readyz").status_code == 200
    answer = client.get("/readyz?stages")
    assert answer.status_code == 503
    assert "feeds.poll has not run for" in answer.content.decode()


def test_the_command_prints_every_stage_and_ends_with_one_when_something_does_not_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    a_feed()
    with pytest.raises(CommandError, match=r"feeds\.poll has not run for"):
        call_command("check_health", json=True)
    rows = {row["stage"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows.keys() == set(STAGES)
    assert rows["feeds.poll"]["oldest_due"] > 3600
    Stage.objects.update(ran_at=utcnow())
    Feed.objects.update(next_poll_at=utcnow() + HOUR)
    call_command("check_health")
