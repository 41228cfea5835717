"""Changing a feed. Its items stay."""

from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from feeds.models import Feed
from feeds.services.adding import check, checked_url

EDITABLE = {
    "url",
    "title",
    "status",
    "min_delay_minutes",
    "await_stabilization_minutes",
    "max_delay_minutes",
    "recheck_every_minutes",
}


@transaction.atomic
def alter_feed(*, feed: Feed, **changes: Any) -> Feed:
    """Changes the named fields, nothing else. Raises ValidationError.

    The first document after a change of address counts as the adding (rules: floods).
    """
    if unknown := set(changes) - EDITABLE:
        raise ValidationError(f"A feed has no field to alter called {', '.join(sorted(unknown))}.")
    feed = Feed.objects.select_for_update().get(pk=feed.pk)
    if "url" in changes:
        changes["url"] = checked_url(changes["url"])
        if changes["url"] != feed.url:
            changes.update(_starting_anew(feed))
    if changes.get("status") == Feed.Status.ACTIVE:
        changes["dropping"] = False
    interval = feed.recheck_every_minutes
    for name, value in changes.items():
        setattr(feed, name, value)
    check(feed)
    if feed.recheck_every_minutes < interval and not feed.failures and feed.last_polled_at:
        # Not only from the next reading on, which the old interval may have put weeks away.
        feed.next_poll_at = min(
            feed.next_poll_at, feed.last_polled_at + timedelta(minutes=feed.recheck_every_minutes)
        )
        changes["next_poll_at"] = feed.next_poll_at
    feed.save(update_fields=list(changes))
    return feed


def _starting_anew(feed: Feed) -> dict[str, Any]:
    """Due at once, whatever the old address did; a worker that is still reading that one stores nothing."""
    return {
        "first_polled_at": None,
        "start": Feed.Start.FROM_NOW,
        "next_poll_at": feed.last_polled_at or feed.next_poll_at,
        "failures": 0,
        "failing_since": None,
        "last_error": "",
        "lease_token": None,
        "lease_until": None,
    }
