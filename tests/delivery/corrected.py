"""Blog whose posts go out by bridges, from its feed to the service, on a clock of minutes."""

from datetime import timedelta
from typing import Any

from delivery.engine.send_pass import send_due
from delivery.issues.complete import complete_due
from delivery.models import Delivery
from subscriptions.collections.assign import assign_final
from subscriptions.models import Subscribable
from tests.factories import BridgeFactory, DestinationFactory, SubscriptionFactory
from tests.feeds.watched import Blog, at, post
from tests.servers.feed_server import FeedServer
from tests.servers.mastodon_instance import TOKEN, MastodonInstance

BOTH = {"edit_corrected": "on", "delete_withdrawn": "on"}


def dated(name: str, minutes: float, **changes: Any) -> dict[str, Any]:
    return post(name, published=at(minutes), **changes)


# Posts from before the blog was added, newest first.
OLD = [dated(f"old{number}", -60 * (number + 1)) for number in range(5)]


class BridgedBlog(Blog):
    """Blog to `bridge`, `watch` and move through time."""

    def __init__(self, server: FeedServer, path: str = "/feed.xml") -> None:
        super().__init__(server, path)
        self.minute = 0.0
        self.show(*OLD)

    def new(self, *posts: dict[str, Any]) -> None:
        """Publish these above the old ones."""
        self.show(*posts, *OLD)

    def bridge(self, channel: str = "mastodon", **options: Any) -> Subscribable:
        made: Subscribable = BridgeFactory(feeds=[self.feed], channel=channel, options=options)
        return made

    def pass_by(self, *minutes: float) -> None:
        """At each minute, read the feed and send what is due."""
        for minute in minutes:
            self.read(minute)
            self.work(minute)

    def work(self, minute: float) -> None:
        """Send what is due, also what a lane's spacing delays."""
        self.minute = minute
        for seconds in (0, 70, 140):
            now = at(minute) + timedelta(seconds=seconds)
            assign_final(clock=lambda now=now: now)  # type: ignore[misc]
            complete_due(clock=lambda now=now: now)  # type: ignore[misc]
            send_due(clock=lambda now=now: now)  # type: ignore[misc]


def an_account(bridge: Subscribable, instance: MastodonInstance, name: str = "bot") -> None:
    destination = DestinationFactory(
        kind="mastodon",
        core=f"{name}@fake.example",
        config={"account": name, "instance_url": instance.url},
        secrets={"access_token": TOKEN},
    )
    SubscriptionFactory(subscribable=bridge, destination=destination)


def changes() -> list[tuple[str, str, str]]:
    """Return the edits and deletions among the deliveries: kind, state and error."""
    rows = Delivery.objects.filter(kind__in=Delivery.CHANGES).order_by("pk")
    return list(rows.values_list("kind", "state", "last_error"))
