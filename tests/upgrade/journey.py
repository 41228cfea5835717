"""Run in the program's environment on an upgraded database: the stages, then the pages; prints what came."""
# ruff: noqa: T201 - the test reads what it prints

import json
from typing import Any

POSTS = 10


def main() -> None:
    from django.conf import settings

    settings.ALLOWED_HOSTS = ["testserver", *settings.ALLOWED_HOSTS]
    print(json.dumps({"done": stages(), "state": state(), "pages": pages()}))


def stages() -> dict[str, int]:
    """A new post appears in the feed, and everything is done until nothing is due."""
    from io import StringIO

    from django.core.management import call_command

    from common.clock import utcnow
    from feeds.models import Feed, Item
    from tests.servers.documents import rss
    from tests.servers.feed_server import FeedServer

    kept = (
        Item.objects.filter(feed=1)
        .exclude(guid__endswith="/held")
        .order_by("-first_seen", "-pk")[: POSTS - 1]
    )
    posts = [{"guid": one.guid, "link": one.link, "title": one.title, "content": "Words."} for one in kept]
    new = {
        "guid": "new",
        "link": "https://blog.example/new",
        "title": "After the upgrade",
        "content": "Words.",
    }
    delays = (
        "min_delay_minutes",
        "await_stabilization_minutes",
        "max_delay_minutes",
        "recheck_every_minutes",
    )
    with FeedServer() as server:
        url = server.serve("/feed.xml", rss([new, *posts], title="Blog"))
        Feed.objects.filter(pk=1).update(
            url=url, host="127.0.0.1", next_poll_at=utcnow(), **dict.fromkeys(delays, 0)
        )
        out = StringIO()
        call_command("run_once", json=True, stdout=out)
    done: dict[str, int] = json.loads(out.getvalue())
    return done


def state() -> dict[str, Any]:
    """What must be right after it."""
    from delivery.models import Delivery
    from feeds.models import Feed, Item
    from subscriptions.models import Assignable

    return {
        "post": Item.objects.get(feed=1, guid="new").state,
        "feed": Feed.objects.get(pk=1).last_error,
        "collections": list(Assignable.objects.filter(failures__gt=0).values_list("last_error", flat=True)),
        "deliveries": Delivery.objects.all().counts(),
    }


def pages() -> dict[str, int]:
    """The status of every main page."""
    from django.apps import apps
    from django.contrib import admin
    from django.contrib.auth import get_user_model
    from django.test import Client
    from django.urls import reverse

    from delivery.models import Issue

    client = Client(raise_request_exception=False)
    client.force_login(get_user_model().objects.get())
    issue = Issue.objects.filter(subscribable__name="each").order_by("pk")[0]
    paths = ["/", "/readyz", "/admin/", "/s/each/", "/s/each/archive/", f"/s/each/archive/{issue.pk}/"]
    paths += ["/s/each/feed.xml", "/api/v1/feeds/", "/api/v1/deliveries/"]
    ours = {"feeds", "subscriptions", "delivery", "feedletter_site"}
    for model in apps.get_models():
        name = f"{model._meta.app_label}_{model._meta.model_name}"
        if model in admin.site._registry and model._meta.app_label in ours:
            paths.append(reverse(f"admin:{name}_changelist"))
            paths.append(reverse(f"admin:{name}_change", args=[model._default_manager.order_by("pk")[0].pk]))
    return {path: client.get(path).status_code for path in paths}
