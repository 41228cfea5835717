"""Pictures of the tutorial: its commands in order, without the waiting."""

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from delivery.models import MailboxMessage
from feeds.models import Feed
from subscriptions.models import Subscribable
from tests.documentation.shots import Shot, Shots
from tests.documentation.stage import Stage
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer

BLOGS = "http://127.0.0.1:8801"
# The settings that `--ping` had changed.
PATIENT = {
    "min_delay_minutes": 30,
    "await_stabilization_minutes": 15,
    "max_delay_minutes": 180,
    "recheck_every_minutes": 10,
}
ADA = "Ada <ada@example.org>"
GREETING = """{% extends "issues/post.KIND" %}{% block body %}<p>Dear %toNicknameOrEmail%,</p>
{{ block.super }}{% endblock %}"""


class Blog:
    """One of two blogs: `publish` adds a post on top, `withdraw` removes it."""

    def __init__(self, server: FeedServer, title: str) -> None:
        self.server, self.title = server, title
        self.posts: list[Mapping[str, Any]] = []

    def publish(self, title: str, html: str, now: datetime) -> None:
        link = f"{BLOGS}/{self.title}-{len(self.posts) + 1}.html"
        self.posts.insert(0, {"title": title, "link": link, "description": html, "published": now})
        self._serve()

    def withdraw(self) -> None:
        del self.posts[0]
        self._serve()

    def _serve(self) -> None:
        self.server.serve(f"/{self.title}.xml", rss(self.posts, title=self.title, link=f"{BLOGS}/"))


@contextmanager
def scene(stage: Stage) -> Iterator[None]:
    """Play docs/tutorial.md, 2 to 8."""
    clock = stage.clock
    with FeedServer() as server:
        lgm = begin(stage, server)
        Client(SERVER_NAME="127.0.0.1").post("/s/lgm/", {"email": "ada@example.org", "name": "Ada"})
        run("send")
        for name in ("lgm", "lgm-daily"):
            run("subscribe", name, email=ADA)
        lgm.publish(
            "First light",
            "<p>The harbour was <em>quiet</em> this morning.</p>"
            "<blockquote><p>Red sky at night.</p></blockquote><p>More tomorrow.</p>",
            clock.on(minutes=2),
        )
        run("run_once", all=True)
        restyle(stage.folder)
        lgm.publish(
            "In a new coat", "<p>Same words, another look.</p><p>What do you think?</p>", clock.on(minutes=2)
        )
        run("run_once", all=True)
        # Last, because the next reading forgets the withdrawal.
        run("alter_feed", "1", **PATIENT)
        lgm.publish("A hasty post", "<p>Written in anger.</p>", clock.on(minutes=2))
        run("poll", all=True)
        lgm.withdraw()
        clock.on(minutes=1)
        run("poll", all=True)
        Feed.objects.filter(title="lgm").update(url=f"{BLOGS}/lgm.xml")
        yield


def begin(stage: Stage, server: FeedServer) -> Blog:
    lgm, atrios = Blog(server, "lgm"), Blog(server, "atrios")
    lgm.publish("An old post", "<p>It was here before anybody subscribed.</p>", stage.clock.now)
    atrios.publish("Another old post", "<p>This one, too.</p>", stage.clock.now)
    for blog in (lgm, atrios):
        run("add_feed", server.url(f"/{blog.title}.xml"), ping=True)
    run("define_subscribable", "lgm", "--feed=1", "--title=Each post of lgm")
    run(
        "define_subscribable",
        "lgm-daily",
        "--feed=1",
        "--arrangement=daily",
        "--at=07:00",
        "--time-zone=America/New_York",
    )
    run("define_subscribable", "atrios-three", "--feed=2", "--arrangement=every_n", "--n=3")
    stage.clock.on(minutes=1)
    return lgm


def restyle(folder: Path) -> None:
    run("set_extra_params", "lgm", "accent=#b3261e", "postal_address=Harbour Street 1, 12345 Example")
    options = []
    for option, kind in (("html", "html"), ("text", "txt")):
        file = folder / f"friendly.{kind}"
        file.write_text(GREETING.replace("KIND", kind), encoding="utf-8")
        options.append(f"--{option}-file={file}")
    run("set_template", "lgm", "post", *options)


def run(*words: Any, **options: Any) -> None:
    call_command(*words, **options, stdout=io.StringIO())


def letter(subject: str) -> int:
    """Return the newest mail with that in its subject."""
    return MailboxMessage.objects.filter(subject__contains=subject).latest("pk").pk


PICTURES: Shots = {
    "tutorial-confirm": Shot(
        path=lambda: reverse("delivery:message", args=[MailboxMessage.objects.earliest("pk").pk]),
        # Its link is below, a new one each time.
        height=620,
        signed_in=True,
    ),
    "tutorial-letter": Shot(
        path=lambda: reverse("delivery:message_html", args=[letter("First light")]),
        width=390,
        height=500,
        signed_in=True,
    ),
    "tutorial-admin": Shot(
        path=lambda: reverse(
            "admin:subscriptions_subscribable_change", args=[Subscribable.objects.get(name="lgm-daily").pk]
        ),
        signed_in=True,
    ),
    "tutorial-why": Shot(
        path=lambda: reverse("admin:feeds_feed_change", args=[Feed.objects.get(title="lgm").pk]),
        # The readings are below, with their milliseconds.
        height=412,
        signed_in=True,
        first="section.fl-panel:has-text('A hasty post')",
    ),
    "tutorial-restyled": Shot(
        path=lambda: reverse("delivery:message_html", args=[letter("In a new coat")]),
        width=390,
        height=540,
        signed_in=True,
    ),
}
