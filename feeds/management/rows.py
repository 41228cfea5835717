"""Output of commands. The names are documented."""

from typing import Any

from common.cli.tables import fields_of
from feeds.models import Feed, Item, Poll


def feed_row(feed: Feed) -> dict[str, Any]:
    return {
        "id": feed.pk,
        "url": feed.url,
        "title": feed.title,
        "status": feed.health,
        "last_polled_at": feed.last_polled_at,
        "next_poll_at": feed.next_poll_at,
        "last_error": feed.last_error,
    }


def item_row(item: Item) -> dict[str, Any]:
    return {
        "id": item.pk,
        "feed": item.feed_id,
        **fields_of(item, "guid link title state first_seen stable_since last_checked"),
    }


def poll_row(poll: Poll) -> dict[str, Any]:
    return fields_of(
        poll,
        "at origin outcome status bytes duration_ms new changed vanished held excluded final next_poll_at"
        " next_poll_why note",
    )
