"""Output of commands. The names are documented."""

from typing import Any

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
        "guid": item.guid,
        "link": item.link,
        "title": item.title,
        "state": item.state,
        "first_seen": item.first_seen,
        "stable_since": item.stable_since,
        "last_checked": item.last_checked,
    }


def poll_row(poll: Poll) -> dict[str, Any]:
    return {
        "at": poll.at,
        "origin": poll.origin,
        "outcome": poll.outcome,
        "status": poll.status,
        "bytes": poll.bytes,
        "duration_ms": poll.duration_ms,
        "new": poll.new,
        "changed": poll.changed,
        "vanished": poll.vanished,
        "held": poll.held,
        "excluded": poll.excluded,
        "final": poll.final,
        "next_poll_at": poll.next_poll_at,
        "next_poll_why": poll.next_poll_why,
        "note": poll.note,
    }
