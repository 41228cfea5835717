"""Changing a feed. Its items stay."""

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
            changes.update(first_polled_at=None, start=Feed.Start.FROM_NOW)
    for name, value in changes.items():
        setattr(feed, name, value)
    check(feed)
    feed.save(update_fields=list(changes))
    return feed
