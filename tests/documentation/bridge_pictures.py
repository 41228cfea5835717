"""Pictures of bridges: an admin connects Harbour Notes to the demo's Mastodon."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, cast

from django.conf import settings
from django.urls import reverse

from delivery.bridges.connect import connect_bridge, typed_destination
from delivery.models import RemotePost, ServiceAccount
from demo.blog import Blog
from demo.bridges import DemoBridge, demo_bridges, services_url
from demo.content.post import ZONE
from demo.discord.places import API
from demo.replay import VirtualClock, beginning, replay, steps
from demo.services import ServicesServer
from feeds.adding.add import add_feed
from feeds.models import Feed
from subscriptions.models import Destination, Subscribable
from tests.documentation.demo_pictures import BLOG, NamedBlog, admin_page
from tests.documentation.shots import Shot, Shots
from tests.documentation.stage import Stage
from tests.servers.services.discord_client import OURS

INSTANCE = "https://mastodon.example"
# The bridge that posts, and the one being set up.
POSTED, BEGUN = "harbour-mastodon", "harbour-notes-mastodon"
REPLAYED = timedelta(days=6)


@contextmanager
def scene(stage: Stage) -> Iterator[None]:
    """Play a week of Harbour Notes on Mastodon; then a second bridge that does not post yet."""
    end = stage.clock.now
    blog = Blog(end.astimezone(ZONE).date())
    server = NamedBlog(blog, stage.clock)
    services = ServicesServer(stage.folder, stage.clock, application=OURS, port=0)
    settings.DISCORD_API_URL = f"http://127.0.0.1:{services.server_port}{API}"
    stage.clock.now = max(beginning(end), end - REPLAYED)
    with server.in_thread(), services.in_thread():
        stage.names[BLOG] = server.server_port
        feed = add_feed(url=f"http://127.0.0.1:{server.server_port}/feed.xml", now=stage.clock.now)
        mastodon, _ = demo_bridges()
        connect(mastodon, feed, stage, name=POSTED)
        moments = [moment for moment in steps(end, blog.moments()) if moment >= stage.clock.now]
        replay(moments, cast(VirtualClock, stage.clock), advance=lambda: None)
        connect(mastodon, feed, stage, name=BEGUN, stopped=True)
        # By a bot that an admin has added before.
        ServiceAccount.objects.create(kind="telegram", name="bees")
        Feed.objects.update(url=f"{BLOG}/feed.xml")
        name_instance()
        yield


def connect(bridge: DemoBridge, feed: Feed, stage: Stage, **more: Any) -> None:
    parsed = typed_destination(bridge.service, {**bridge.data, "account": more["name"]})
    connect_bridge(
        channel=bridge.service,
        feeds=[feed],
        parsed=parsed,
        now=stage.clock.now,
        title=bridge.title,
        arrangement="each",
        options=dict(bridge.options),
        **more,
    )


def name_instance() -> None:
    """Replace this machine's URL by an instance with a name."""
    here = services_url()
    for to in Destination.objects.all():
        to.config = {**to.config, "instance_url": INSTANCE}
        to.label = to.label.replace(here.removeprefix("http://"), "mastodon.example")
        to.save()
    for post in RemotePost.objects.all():
        post.url = post.url.replace(f"{here}/mastodon", f"{INSTANCE}/@harbour")
        post.save()


def bridge(name: str) -> int:
    return Subscribable.objects.get(name=name).pk


def form_of(kind: str, *, height: int = 800) -> Shot:
    """Return a shot of the form that connects that service."""
    return Shot(
        path=lambda: f"/admin/add-bridge/?kind={kind}&feed=1", width=1100, height=height, signed_in=True
    )


PICTURES: Shots = {
    "bridge-services": Shot(path=lambda: "/admin/add-bridge/?feed=1", width=1280, height=980, signed_in=True),
    "bridge-looks": Shot(path=lambda: f"/admin/bridge/{BEGUN}/", width=1280, height=1000, signed_in=True),
    "bridge-posts": Shot(
        path=lambda: admin_page("subscriptions_subscribable_change", bridge(POSTED)),
        width=1280,
        height=760,
        signed_in=True,
    ),
    "bridge-mastodon": form_of("mastodon"),
    "bridge-bluesky": form_of("bluesky", height=860),
    "bridge-discord": Shot(
        path=lambda: reverse("bridge_application", args=["discord"]), width=1100, height=860, signed_in=True
    ),
    "bridge-telegram-account": Shot(
        path=lambda: admin_page("delivery_serviceaccount_add", query="?kind=telegram"),
        width=1100,
        height=560,
        signed_in=True,
    ),
    "bridge-telegram": form_of("telegram"),
    "bridge-slack": form_of("slack"),
    "bridge-matrix": form_of("matrix", height=880),
    "bridge-ntfy": form_of("ntfy", height=1060),
    "bridge-webhook": form_of("webhook", height=870),
    "bridge-apprise": form_of("apprise"),
    "bridge-sms": Shot(
        path=lambda: admin_page("delivery_serviceaccount_add", query="?kind=sms"),
        width=1100,
        height=760,
        signed_in=True,
    ),
}
