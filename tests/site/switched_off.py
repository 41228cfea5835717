"""Facts about a process in which an app may be switched off."""

from collections.abc import Iterator
from typing import Any

from bs4 import BeautifulSoup
from django.contrib.auth.models import User
from django.core.management import get_commands
from django.db.migrations.loader import MigrationLoader
from django.test import Client
from django.test.utils import setup_test_environment
from django.urls import URLResolver, get_resolver
from django_celery_beat.models import PeriodicTask

from feedletter_site.celery import app
from feedletter_site.management.commands.up import plan
from feedletter_site.ticks.schedule import ensure_schedule
from feedletter_site.ticks.scheduler import Scheduler

PAGES = {
    "reader": (
        "/reader/",
        "/reader/sign-in/site/",
        "/indieauth/token",
        "/microsub/ada",
        "/greader/",
        "/api/greader.php",
        "/.well-known/oauth-authorization-server",
        "/admin/reader/reader/",
        "/admin/reader/invitation/add/",
    ),
    "chat": ("/discord/interactions/", "/discord/events/", "/admin/discord/", "/admin/chat/guild/"),
}


def paths(resolver: Any, before: str = "") -> Iterator[str]:
    for pattern in resolver.url_patterns:
        here = f"{before}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            yield from paths(pattern, here)
        else:
            yield here


def facts() -> dict[str, Any]:
    setup_test_environment()
    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.create_superuser("boss", "boss@example.org", "x"))
    overview = client.get("/admin/")
    schedule = client.get("/admin/django_celery_beat/periodictask/")
    worker = plan("127.0.0.1:8000", processes=2).commands["worker"]
    found: dict[str, Any] = {
        "paths": list(paths(get_resolver())),
        "statuses": {page: client.get(page).status_code for pages in PAGES.values() for page in pages},
        "links": [
            link.get("href")
            for page in (overview, client.get("/admin/settings/"))
            for link in BeautifulSoup(page.content, "html.parser").find_all("a")
        ],
        "overview": overview.content.decode(),
        "stages": [row.name for row in schedule.context["cl"].queryset],
        "metrics": client.get("/metrics").content.decode(),
        "commands": {name: owner.rpartition(".")[2] for name, owner in get_commands().items()},
        "queues": worker[worker.index("-Q") + 1].split(","),
        "ticks": list(Scheduler(app=app, lazy=True).all_as_schedule()),
        "migrated": sorted(MigrationLoader(None).migrated_apps),
    }
    PeriodicTask.objects.all().delete()
    return {**found, "new_rows": ensure_schedule()}
