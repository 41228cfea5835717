"""The engine. Beat ticks the stages; the database is the queue."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "feedletter_site.settings")

app = Celery("feedletter")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
