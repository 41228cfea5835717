"""Rows that are created if missing, and that only admins change."""

from typing import Any

from django.conf import settings
from django.db import connections
from django_celery_beat.models import IntervalSchedule, PeriodicTask

from common.optional_apps import switched_on
from feedletter_site.models import Stage

# task: (seconds when embedded, seconds when distributed, description)
EVERY_STAGE = {
    "feeds.poll": (1, 5, "Read the feeds that are due."),
    "feeds.pushes": (1, 1, "Read what hubs have pushed."),
    "feeds.hubs": (30, 30, "Subscribe to hubs that push new posts, and keep those subscriptions."),
    "feeds.audience": (60, 60, "Tell people who read here what they were not told when it came."),
    "feeds.prune": (3600, 3600, "Forget readings that are a month old."),
    "subscriptions.assign": (1, 2, "Put settled posts into collections."),
    "subscriptions.forget": (3600, 3600, "Forget old sign-in links, and what came in late of erased people."),
    "subscriptions.expire": (3600, 3600, "Forget sign-ups that nobody confirmed."),
    "subscriptions.lists": (1, 2, "Look at uploaded lists of subscribers, and take them over."),
    "delivery.complete": (1, 2, "Make issues of the collections that are complete."),
    "delivery.send": (1, 2, "Send what is due."),
    "delivery.reap": (15, 15, "Take back what a dead worker was sending."),
    "delivery.alert": (60, 60, "Tell the admins of feeds that fail, are gone, or can be read again."),
    "delivery.webhooks": (1, 2, "Call the webhooks that wait to hear of something."),
    "delivery.prune": (86400, 86400, "Forget texts and attempts that are older than KEEP_DAYS."),
    "chat.answer": (1, 1, "Answer what people of Discord servers asked for."),
    "chat.notify": (10, 10, "Tell Discord servers of trouble with their feeds, and do what they decided."),
    "chat.tidy": (3600, 3600, "Look which Discord servers the bot is still in, and forget what is over."),
    "reader.place": (1, 2, "Put what feeds brought into the channels of those who read here."),
    "reader.lists": (1, 2, "Follow the feeds of the lists that those who read here brought along."),
    "reader.filters": (1, 2, "Hide and show posts where those who read here changed a channel’s filters."),
    "reader.mentions": (2, 5, "Look at what other sites say of the pages of those who read here."),
    "reader.compose": (1, 2, "Post what those who read here wrote for their own sites."),
    "reader.prune": (3600, 3600, "Forget posts in channels that are older than READER_KEEP_READ_DAYS."),
    "feedletter_site.figures": (300, 300, "Count what the overview shows of large tables."),
    "feedletter_site.migrate_from": (1, 2, "Take over what came from other programs."),
    "delivery.bounces": (60, 60, "Read the mail that came back (BOUNCE_URL)."),
}
STAGES = switched_on(EVERY_STAGE)


def ensure_schedule() -> list[str]:
    """Create missing rows and return their names.

    CELERY_BEAT_SCHEDULE would overwrite the admin's edits at every start.
    """
    there = set(PeriodicTask.objects.filter(name__in=STAGES).values_list("name", flat=True))
    missing = [task for task in STAGES if task not in there]
    for task in missing:
        embedded, distributed, description = STAGES[task]
        seconds = embedded if settings.EMBEDDED else distributed
        PeriodicTask.objects.create(
            name=task,
            task=task,
            interval=every(seconds),
            description=description,
        )
    return missing


def every(seconds: int) -> IntervalSchedule:
    """Rows are not unique, so get_or_create could find several."""
    known = IntervalSchedule.objects.filter(every=seconds, period=IntervalSchedule.SECONDS).first()
    return known or IntervalSchedule.objects.create(every=seconds, period=IntervalSchedule.SECONDS)


def after_migrate(using: str, **_: Any) -> None:
    """Receive post_migrate, also for a single app."""
    tables = connections[using].introspection.table_names()
    if PeriodicTask._meta.db_table in tables:
        ensure_schedule()
    if Stage._meta.db_table in tables:
        # From now on, stages that never run are noticed.
        Stage.objects.bulk_create([Stage(name=name) for name in STAGES], ignore_conflicts=True)
