"""The schedule of the stages.

Each stage is registered under the name that beat uses.
"""

import pytest
from django.conf import settings
from django.core.management import call_command
from django_celery_beat.models import IntervalSchedule, PeriodicTask

from feedletter_site.celery import app
from feedletter_site.ticks.schedule import STAGES, ensure_schedule

pytestmark = pytest.mark.django_db
# Rare and short, beside the stage they serve.
BESIDE = {
    "subscriptions.expire": "assign",
    "subscriptions.forget": "assign",
    "subscriptions.lists": "assign",
    "reader.lists": "reader",
    "reader.filters": "reader",
    "feeds.pushes": "poll",
    "fediverse.exchange": "webhooks",
    "fediverse.tidy": "webhooks",
    "feeds.audience": "poll",
    "reader.mentions": "reader",
    "reader.compose": "reader",
    "reader.prune": "reader",
    "feeds.hubs": "poll",
    "feeds.pages": "poll",
    "feeds.prune": "poll",
    "delivery.alert": "reap",
    "delivery.prune": "reap",
    "delivery.old_issues": "assign",
    "feedletter_site.figures": "reap",
    "feedletter_site.backup": "reap",
    "feedletter_site.migrate_from": "assign",
    "chat.notify": "chat",
    "chat.tidy": "chat",
}


def test_migrating_makes_a_row_for_each_stage() -> None:
    assert set(PeriodicTask.objects.values_list("task", flat=True)) >= set(STAGES)


def test_no_tick_ends_by_a_clock_that_may_differ_from_beats() -> None:
    for row in PeriodicTask.objects.filter(name__in=STAGES).select_related("interval"):
        assert row.expire_seconds is None
        assert row.interval.period == IntervalSchedule.SECONDS


def test_stages_tick_slower_when_there_are_many_workers(settings: object) -> None:
    settings.EMBEDDED = False  # type: ignore[attr-defined]
    PeriodicTask.objects.filter(name__in=STAGES).delete()
    ensure_schedule()
    every = dict(PeriodicTask.objects.filter(name__in=STAGES).values_list("name", "interval__every"))
    assert every["feeds.poll"] == 5
    assert every["delivery.send"] == 2


def test_what_the_admin_edited_stays() -> None:
    slow = IntervalSchedule.objects.create(every=7, period=IntervalSchedule.MINUTES)
    PeriodicTask.objects.filter(name="feeds.poll").update(interval=slow, enabled=False)
    PeriodicTask.objects.filter(name="delivery.send").delete()
    call_command("migrate", verbosity=0)
    poll = PeriodicTask.objects.get(name="feeds.poll")
    assert (poll.interval, poll.enabled) == (slow, False)
    assert PeriodicTask.objects.filter(name="delivery.send").count() == 1


def test_a_second_time_makes_nothing() -> None:
    ensure_schedule()
    assert ensure_schedule() == []


def test_intervals_that_exist_twice_are_no_trouble() -> None:
    PeriodicTask.objects.filter(name__in=STAGES).delete()
    for _ in range(2):
        IntervalSchedule.objects.create(every=1, period=IntervalSchedule.SECONDS)
    assert set(ensure_schedule()) == set(STAGES)


@pytest.mark.needs("reader")
@pytest.mark.needs("chat")
def test_every_scheduled_task_exists_and_every_stage_has_a_queue_of_its_own() -> None:
    app.loader.import_default_modules()
    assert set(STAGES) <= set(app.tasks)
    queues = {task: settings.CELERY_TASK_ROUTES[task]["queue"] for task in STAGES}
    assert {task: queues.pop(task) for task in BESIDE} == BESIDE
    assert len(set(queues.values())) == len(queues)


def test_each_stage_runs_where_there_is_nothing_to_do() -> None:
    app.loader.import_default_modules()
    failed = {stage: result.result for stage in STAGES if (result := app.tasks[stage].apply()).failed()}
    assert failed == {}
