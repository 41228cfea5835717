"""The engine. Beat ticks the stages; the database is the queue."""

import os
from typing import Any

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "feedletter_site.settings")

app = Celery("feedletter")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@app.on_after_configure.connect
def put_beat_into_the_worker(sender: Celery, **_: Any) -> None:
    """With the broker in memory, the plain worker command is all one needs."""
    if str(sender.conf.broker_url).startswith("memory:"):
        sender.steps["worker"].add("feedletter_site.bootsteps:BeatThread")
