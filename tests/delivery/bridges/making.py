"""Bridges to a fake Mastodon instance."""

from typing import Any

from delivery.bridges.connect import connect_bridge, typed_destination
from feeds.models import Feed
from subscriptions.models import Subscription
from tests.delivery.own_letters import a_read_feed
from tests.factories import NOW
from tests.servers.mastodon_instance import TOKEN, MastodonInstance


def fields(instance: MastodonInstance, **other: str) -> dict[str, str]:
    """Return the fields as an admin types them."""
    return {"account": "bot", "instance_url": instance.url, "access_token": TOKEN, **other}


def a_bridge(instance: MastodonInstance, *, feed: Feed | None = None, **other: Any) -> Subscription:
    """Return a connected bridge, with posts in its feed, that does not post yet."""
    given: dict[str, Any] = {"name": "bees", "stopped": True, **other}
    chosen = [feed or a_read_feed()]
    parsed = typed_destination("mastodon", fields(instance))
    return connect_bridge(channel="mastodon", feeds=chosen, parsed=parsed, now=NOW, **given)
