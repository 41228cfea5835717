"""Pictures of the demo."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from django.conf import settings
from django.urls import reverse

from delivery.models import Broadcast, Delivery
from demo.blog import Blog
from demo.content.post import ZONE
from demo.dressing import dress_newsletters, dress_site
from demo.history import History
from demo.newsletters import define_all
from demo.replay import VirtualClock, beginning, replay, steps
from demo.server import BlogServer
from feedletter_site.monitoring.first_steps import ALL, put_aside
from feeds.adding.add import add_feed
from feeds.models import Feed
from reader.channels.channels import add_channel, alter_channel
from reader.channels.follows import follow_feed
from reader.models import Channel, Entry
from reader.people.readers import add_reader
from subscriptions.links import manage_url
from subscriptions.models import Assignable, Subscribable, Subscription
from tests.documentation.shots import ADMIN, Composed, Shot, Shots
from tests.documentation.stage import Stage

BLOG = "http://harbour.example"

# The overview behind, a newsletter's page and a letter in front of it.
SIDE_BY_SIDE = """<!doctype html><style>
body { margin: 0; background: #e6edf0; height: 900px; position: relative; overflow: hidden }
img { position: absolute; display: block; border-radius: 14px;
box-shadow: 0 2px 4px #0b1f2a24, 0 18px 48px #0b1f2a38 }
.a { left: 60px; top: 52px; width: 1130px } .b { left: 560px; top: 232px; width: 560px }
.c { right: 56px; top: 96px; width: 346px; border-radius: 30px; border: 9px solid #14202b }
</style><img class="a" src="{}"><img class="b" src="{}"><img class="c" src="{}">"""
READERS_PAGE = Shot(path=lambda: "/s/harbour-weekly/", width=720, height=810, sharp=1.5)


class NamedBlog(BlogServer):
    """Blog whose feed uses its name on the stage."""

    url = BLOG


@contextmanager
def scene(stage: Stage) -> Iterator[None]:
    """Replay five weeks of Harbour Notes up to the stage's moment."""
    end = stage.clock.now
    blog = Blog(end.astimezone(ZONE).date())
    server = NamedBlog(blog, stage.clock)
    stage.clock.now = beginning(end)
    with server.in_thread():
        stage.names[BLOG] = server.server_port
        feed = add_feed(url=f"http://127.0.0.1:{server.server_port}/feed.xml", now=stage.clock.now)
        newsletters = {row.name: row for row in define_all(feed, now=stage.clock.now)}
        dress_site(BLOG)
        dress_newsletters(newsletters.values())
        history = History(newsletters, end, with_bridges=False)
        replay(
            steps(end, blog.moments()),
            cast(VirtualClock, stage.clock),
            advance=lambda: None,
            before=history.until,
        )
        read_along(feed, f"http://127.0.0.1:{server.server_port}", stage.clock.now)
        Feed.objects.update(url=f"{BLOG}/feed.xml")
        put_aside(ALL)
        yield


def read_along(feed: Feed, address: str, now: datetime) -> None:
    """Let the admin read the blog here. Its pictures are fetched by this process, from `address`."""
    reader = add_reader(name="maren", username=ADMIN[0], now=now)
    add_channel(reader=reader, name="Friends")
    channel = alter_channel(channel=add_channel(reader=reader, name="By the sea"), layout="cards")
    follow_feed(channel=channel, feed=feed, clock=lambda: now)
    for entry in Entry.objects.all():
        entry.jf2 = json.loads(json.dumps(entry.jf2).replace(BLOG, address))
        entry.save(update_fields=["jf2"])


def admin_page(name: str, *keys: Any, query: str = "") -> str:
    return reverse(f"admin:{name}", args=keys) + query


def newsletter(name: str) -> int:
    return Subscribable.objects.get(name=name).pk


def mail_to(reader: str, newsletter: str) -> int:
    """Return their newest issue in the mailbox."""
    letters = Delivery.objects.filter(issue__subscribable__name=newsletter, state=Delivery.State.STORED)
    return letters.filter(destination__core=reader, kept_message__isnull=False).latest("pk").kept_message.pk


def managed() -> str:
    """Return the path of a reader's manage page."""
    row = Subscription.objects.get(subscribable__name="harbour-weekly", destination__core="clara@example.org")
    return manage_url(row).removeprefix(settings.SITE_URL)


OVERVIEW = Shot(path=lambda: admin_page("index"), width=1280, height=820, signed_in=True)
LETTER_BY_DAY = Shot(
    path=lambda: f"/mailbox/{mail_to('clara@example.org', 'harbour-notes')}/html/",
    width=390,
    height=780,
    signed_in=True,
    sharp=1.5,
)
PICTURES: Shots = {
    "morning": replace(OVERVIEW, height=1000),
    "write-a-letter": Shot(
        path=lambda: admin_page("delivery_broadcast_change", Broadcast.objects.get(issue=None).pk),
        width=1280,
        signed_in=True,
    ),
    "next-issue": Shot(
        path=lambda: admin_page(
            "delivery_next_issue_edit", Assignable.objects.get(subscribable__name="harbour-weekly").pk
        ),
        width=1280,
        height=900,
        signed_in=True,
    ),
    "mail-set-up": Shot(path=lambda: reverse("mail_set_up"), width=1280, signed_in=True),
    "look": Shot(
        path=lambda: admin_page(
            "subscriptions_subscribable_change", newsletter("harbour-weekly"), query="?tab=look"
        ),
        width=1280,
        height=900,
        signed_in=True,
    ),
    "subscribers": Shot(
        path=lambda: admin_page("subscriptions_destination_changelist"), width=1280, signed_in=True
    ),
    "reader": Shot(
        path=lambda: reverse("reader:channel", args=[Channel.objects.get(name="By the sea").uid]),
        width=1280,
        height=720,
        signed_in=True,
        photo=True,
    ),
    "directory": Shot(path=lambda: "/", width=900, height=760),
    "readers-own-page": Shot(path=managed, width=900, height=820),
    "feedletter": Composed(
        shots=(OVERVIEW, READERS_PAGE, LETTER_BY_DAY), page=SIDE_BY_SIDE, width=1600, height=900
    ),
}
