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
    "feeds.pushes": (1, 1, "Read posts that hubs have pushed."),
    "feeds.hubs": (30, 30, "Subscribe to hubs that push new posts, and keep those subscriptions."),
    "feeds.audience": (
        60,
        60,
        "Send new posts to the channels of people who read here, if that failed at first.",
    ),
    "feeds.pages": (1, 2, "Read whole posts from their pages, for feeds of excerpts."),
    "feeds.prune": (
        3600,
        3600,
        "Delete records of polls after a month, and versions of posts after 90 days.",
    ),
    "subscriptions.assign": (1, 2, "Put settled posts into collections."),
    "subscriptions.forget": (3600, 3600, "Delete old sign-in links, and late records about erased people."),
    "subscriptions.expire": (3600, 3600, "Delete sign-ups that nobody confirmed."),
    "subscriptions.lists": (1, 2, "Check and import uploaded lists of subscribers."),
    "delivery.complete": (1, 2, "Make issues of completed collections."),
    "delivery.send": (1, 2, "Send deliveries that are due."),
    "delivery.reap": (15, 15, "Requeue deliveries of dead workers."),
    "delivery.alert": (60, 60, "Email admins about feeds that fail, are gone, or have recovered."),
    "delivery.webhooks": (1, 2, "Call webhooks that have events waiting."),
    "delivery.old_issues": (1, 2, "Import old issues from files of other programs."),
    "delivery.prune": (86400, 86400, "Delete texts and attempts older than KEEP_DAYS."),
    "fediverse.exchange": (1, 2, "Answer follows from the Fediverse."),
    "fediverse.tidy": (
        3600,
        3600,
        "Drop servers of the Fediverse that are gone, and old records of activities.",
    ),
    "chat.answer": (1, 1, "Answer commands from Discord servers."),
    "chat.notify": (10, 10, "Notify Discord servers of feeds in trouble."),
    "chat.tidy": (3600, 3600, "Delete data of Discord servers that the bot left."),
    "reader.place": (1, 2, "Put new posts into channels of the reader."),
    "reader.lists": (1, 2, "Follow the feeds of lists imported into the reader."),
    "reader.filters": (1, 2, "Hide and show posts after changes of a channel’s filters."),
    "reader.mentions": (2, 5, "Check mentions by other sites."),
    "reader.compose": (1, 2, "Post what people wrote for their own sites."),
    "reader.prune": (3600, 3600, "Delete posts in channels older than READER_KEEP_READ_DAYS."),
    "feedletter_site.figures": (300, 300, "Count large tables for the overview."),
    "feedletter_site.migrate_from": (1, 2, "Import from other programs."),
    "feedletter_site.backup": (600, 600, "Copy the database to BACKUP_DIR each night."),
    "delivery.bounces": (60, 60, "Read bounces (BOUNCE_URL)."),
}
STAGES = switched_on(EVERY_STAGE)
# Of a worker for all queues: more than queues, so that a slow stage stops no other.
THREADS = 18


def queues() -> list[str]:
    routes = settings.CELERY_TASK_ROUTES
    return list(
        dict.fromkeys([settings.CELERY_TASK_DEFAULT_QUEUE, *(routes[stage]["queue"] for stage in STAGES)])
    )


def ensure_schedule() -> list[str]:
    """Create missing rows and return their names.

    CELERY_BEAT_SCHEDULE would overwrite the admin's edits at every start.
    """
    there = set(PeriodicTask.objects.filter(name__in=STAGES).values_list("name", flat=True))
    missing = [task for task in STAGES if task not in there]
    for task in missing:
        embedded, distributed, description = STAGES[task]
        seconds = embedded if settings.EMBEDDED else distributed
        PeriodicTask.objects.create(name=task, task=task, interval=every(seconds), description=description)
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
