"""Ticks do not end by the clock any more: a worker whose clock was a few seconds ahead dropped them all."""

from typing import Any

from django.db import migrations
from django.db.models import F

# The stages of the release before; what an admin set otherwise stays.
STAGES = (
    "feeds.poll",
    "feeds.hubs",
    "feeds.prune",
    "subscriptions.assign",
    "subscriptions.forget",
    "subscriptions.expire",
    "subscriptions.lists",
    "delivery.complete",
    "delivery.send",
    "delivery.reap",
    "delivery.alert",
    "delivery.webhooks",
    "delivery.prune",
    "delivery.bounces",
)


def let_ticks_stay(apps: Any, schema_editor: Any) -> None:
    rows = apps.get_model("django_celery_beat", "PeriodicTask").objects.using(schema_editor.connection.alias)
    rows.filter(name__in=STAGES, expire_seconds=F("interval__every")).update(expire_seconds=None)


class Migration(migrations.Migration):
    dependencies = [
        ("feedletter_site", "0001_initial"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]
    operations = [migrations.RunPython(let_ticks_stay, migrations.RunPython.noop, elidable=True)]
